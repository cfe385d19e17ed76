# A program of a few hundred bytes that starts others where there may be no shell: what it needs of a system is the kernel.
#
#   start INPUT FOLDER CANDIDATE... '' ARGUMENTS...
#       opens INPUT as standard input, changes to FOLDER unless that is empty, and becomes the first CANDIDATE that can
#       be started, with ARGUMENTS, the first of which is the name it is called by
#   start '' FILE...
#       prints, of each file, its name, a line break, what is in it, and a zero
#
# Ends with 127 if no candidate can be started, and with 126 if the input or the folder cannot be opened.
#
#   as -o x86_64.o x86_64.s && objcopy -O binary -j .text x86_64.o x86_64.bin

        .intel_syntax noprefix
        .text
        .set address, 0x400000
file:
        .byte 0x7f, 'E', 'L', 'F', 2, 1, 1, 0
        .quad 0
        .short 2, 62                    # an executable, for this machine
        .long 1
        .quad address + begin - file
        .quad segment - file
        .quad 0
        .long 0
        .short 64, 56, 1, 0, 0, 0
segment:
        .long 1, 5                      # to be loaded, read and executed
        .quad 0, address, address, end - file, end - file, 0x1000

begin:
        mov r12, [rsp]                  # number of arguments
        lea r13, [rsp + 8]              # arguments
        lea r14, [r13 + r12 * 8 + 8]    # environment
        cmp r12, 2
        jb failed
        mov rdi, [r13 + 8]
        cmp byte ptr [rdi], 0
        je report
        cmp r12, 5
        jb failed

        xor esi, esi
        mov eax, 2                      # open
        syscall
        test eax, eax
        js failed
        jz opened                       # it was closed, and is what it has to be now
        mov edi, eax
        xor esi, esi
        mov eax, 33                     # dup2
        syscall
        mov eax, 3                      # close
        syscall
opened:
        mov rdi, [r13 + 16]
        cmp byte ptr [rdi], 0
        je here
        mov eax, 80                     # chdir
        syscall
        test eax, eax
        js failed
here:
        lea r15, [r13 + 24]             # candidates
        mov rbx, r15
find_arguments:
        mov rdi, [rbx]
        test rdi, rdi
        jz failed
        add rbx, 8
        cmp byte ptr [rdi], 0
        jne find_arguments
try:
        mov rdi, [r15]
        add r15, 8
        cmp byte ptr [rdi], 0
        je not_found
        mov rsi, rbx
        mov rdx, r14
        mov eax, 59                     # execve
        syscall
        jmp try

not_found:
        lea rsi, [rip + not_found_text]
        mov edx, not_found_end - not_found_text
        mov ebx, 127
        jmp complain
failed:
        lea rsi, [rip + failed_text]
        mov edx, failed_end - failed_text
        mov ebx, 126
complain:
        mov edi, 2
        mov eax, 1                      # write
        syscall
        mov edi, ebx
        jmp exit

report:
        lea r15, [r13 + 16]
        sub rsp, 4096
next_file:
        mov rbx, [r15]
        add r15, 8
        test rbx, rbx
        jz done
        xor edx, edx
length:
        cmp byte ptr [rbx + rdx], 0
        je name
        inc rdx
        jmp length
name:
        mov rsi, rbx
        call print
        lea rsi, [rip + line_break]
        mov edx, 1
        call print
        mov rdi, rbx
        xor esi, esi
        mov eax, 2                      # open
        syscall
        mov ebp, eax
        test eax, eax
        js end_of_file
copy:
        mov edi, ebp
        mov rsi, rsp
        mov edx, 4096
        xor eax, eax                    # read
        syscall
        test rax, rax
        jle end_of_file
        mov rsi, rsp
        mov rdx, rax
        call print
        jmp copy
end_of_file:
        lea rsi, [rip + zero]
        mov edx, 1
        call print
        jmp next_file
print:
        mov edi, 1
        mov eax, 1                      # write
        syscall
        ret
done:
        xor edi, edi
exit:
        mov eax, 60                     # exit
        syscall

line_break:
        .ascii "\n"
zero:
        .byte 0
not_found_text:
        .ascii "krm: the program cannot be started on this worker: it, or what it needs to start, is not there\n"
not_found_end:
failed_text:
        .ascii "krm: the input or the folder of the program cannot be opened on this worker\n"
failed_end:
end:
