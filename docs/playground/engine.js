// The engine, as a WebAssembly module. It sees only the files it is given.

const encoder = new TextEncoder();
const decoder = new TextDecoder();

// The files come with each question, so the module never asks the page for one.
const imports = { krm: { kind: () => 0, read: () => -1n, list: () => -1n, take: () => {} } };

export async function load(address) {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`the engine could not be loaded: ${response.status}`);
  return new Engine(await WebAssembly.compile(await response.arrayBuffer()));
}

class Engine {
  #module;
  #exports = null;

  constructor(module) {
    this.#module = module;
  }

  // Asks a question about some files, and returns the answer.
  ask(files, question) {
    this.#exports ??= new WebAssembly.Instance(this.#module, imports).exports;
    const { krm_allocate, krm_answer, krm_free, memory } = this.#exports;
    try {
      const bytes = encoder.encode(JSON.stringify({ files, question }));
      // Addresses are unsigned; a number from the module is not.
      const room = krm_allocate(bytes.length) >>> 0;
      new Uint8Array(memory.buffer, room, bytes.length).set(bytes);
      const packed = BigInt.asUintN(64, krm_answer(room, bytes.length));
      const [address, length] = [Number(packed >> 32n), Number(packed & 0xffffffffn)];
      const text = decoder.decode(new Uint8Array(memory.buffer, address, length));
      krm_free(address, length);
      return JSON.parse(text);
    } catch (error) {
      // Whatever state it is in now, the next question gets a new one.
      this.#exports = null;
      return { errors: [{ message: String(error), text: `The engine failed: ${error}\n` }] };
    }
  }
}
