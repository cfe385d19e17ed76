// The words of a value that differ.
/** The part in the middle that differs, cut at the borders of words. */
const differing = (before, after) => {
  const cut = /[^\p{L}\p{N}]+|[\p{L}\p{N}]+/gu;
  const a = before.match(cut) || [], b = after.match(cut) || [];
  let start = 0, end = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  // A version is one word.
  const isPart = (word) => /^(\d+|\.)$/.test(word || '');
  if (isPart(a[start]) || isPart(b[start])) while (start && isPart(a[start - 1])) start--;
  if (isPart(a[a.length - end - 1]) || isPart(b[b.length - end - 1])) while (end && isPart(a[a.length - end])) end--;
  /** @returns {[string, string, string]} */
  const parts = (of) => [of.slice(0, start).join(''), of.slice(start, of.length - end).join(''), of.slice(of.length - end).join('')];
  return [parts(a), parts(b)];
};
const marked = ([head, middle, tail], tag) => [head, middle && h(tag, null, middle), tail];
