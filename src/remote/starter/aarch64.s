// The same as `x86_64.s`, which says what it does, for another machine.
//
//   aarch64-linux-gnu-as -o aarch64.o aarch64.s && aarch64-linux-gnu-objcopy -O binary -j .text aarch64.o aarch64.bin

        .text
        .set address, 0x400000
file:
        .byte 0x7f, 'E', 'L', 'F', 2, 1, 1, 0
        .quad 0
        .short 2, 183                   // an executable, for this machine
        .word 1
        .quad address + begin - file
        .quad segment - file
        .quad 0
        .word 0
        .short 64, 56, 1, 0, 0, 0
segment:
        .word 1, 5                      // to be loaded, read and executed
        .quad 0, address, address, end - file, end - file, 0x10000

begin:
        ldr x19, [sp]                   // number of arguments
        add x20, sp, #8                 // arguments
        add x21, x20, x19, lsl #3
        add x21, x21, #8                // environment
        cmp x19, #2
        b.lo failed
        ldr x1, [x20, #8]
        ldrb w2, [x1]
        cbz w2, report
        cmp x19, #5
        b.lo failed

        bl open
        tbnz x0, #63, failed
        cbz x0, opened                  // it was closed, and is what it has to be now
        mov x22, x0
        mov x1, #0
        mov x2, #0
        mov x8, #24                     // dup3
        svc #0
        mov x0, x22
        mov x8, #57                     // close
        svc #0
opened:
        ldr x0, [x20, #16]
        ldrb w2, [x0]
        cbz w2, here
        mov x8, #49                     // chdir
        svc #0
        tbnz x0, #63, failed
here:
        add x23, x20, #24               // candidates
        mov x22, x23
find_arguments:
        ldr x0, [x22], #8
        cbz x0, failed
        ldrb w2, [x0]
        cbnz w2, find_arguments
try:
        ldr x0, [x23], #8
        ldrb w2, [x0]
        cbz w2, not_found
        mov x1, x22
        mov x2, x21
        mov x8, #221                    // execve
        svc #0
        b try

not_found:
        adr x1, not_found_text
        mov x2, #(not_found_end - not_found_text)
        mov x22, #127
        b complain
failed:
        adr x1, failed_text
        mov x2, #(failed_end - failed_text)
        mov x22, #126
complain:
        mov x0, #2
        mov x8, #64                     // write
        svc #0
        mov x0, x22
        b exit

report:
        add x23, x20, #16
        sub sp, sp, #4096
next_file:
        ldr x22, [x23], #8
        cbz x22, done
        mov x2, #0
length:
        ldrb w3, [x22, x2]
        cbz w3, name
        add x2, x2, #1
        b length
name:
        mov x1, x22
        bl print
        adr x1, line_break
        mov x2, #1
        bl print
        mov x1, x22
        bl open
        mov x24, x0
        tbnz x0, #63, end_of_file
copy:
        mov x0, x24
        mov x1, sp
        mov x2, #4096
        mov x8, #63                     // read
        svc #0
        cmp x0, #0
        b.le end_of_file
        mov x1, sp
        mov x2, x0
        bl print
        b copy
end_of_file:
        adr x1, zero
        mov x2, #1
        bl print
        b next_file
open:
        mov x0, #-100                   // relative to the folder it runs in
        mov x2, #0
        mov x3, #0
        mov x8, #56                     // openat
        svc #0
        ret
print:
        mov x0, #1
        mov x8, #64                     // write
        svc #0
        ret
done:
        mov x0, #0
exit:
        mov x8, #93                     // exit
        svc #0

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
