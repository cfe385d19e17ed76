// A project as text for an address: compressed JSON, in letters that an address may have.

const pipe = async (bytes, stream) => new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());

export async function pack(project) {
  const bytes = await pipe(new TextEncoder().encode(JSON.stringify(project)), new CompressionStream('deflate-raw'));
  const text = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
  return text.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

// Nothing, if the text is not a project: anyone can make a link.
export async function unpack(text) {
  if (!text) return null;
  try {
    const letters = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
    const bytes = await pipe(Uint8Array.from(letters, (letter) => letter.charCodeAt(0)), new DecompressionStream('deflate-raw'));
    const { files, target, open } = JSON.parse(new TextDecoder().decode(bytes));
    const isText = (value) => typeof value === 'string';
    if (!isText(target) || !Object.values(files).every(isText) || Object.keys(files).length === 0) return null;
    return { files, target, open };
  } catch {
    return null;
  }
}
