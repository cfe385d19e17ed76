// Reads YAML documents, each on a line of standard input as a JSON string; writes what it made of each as JSON.
const library = require(process.argv[2]);
const read = process.argv[2] === "yaml" ? (text) => library.parse(text, { version: process.argv[3] }) : library.load;
const lines = require("fs").readFileSync(0, "utf8").split("\n").filter((line) => line !== "");
console.log("ready");
for (const line of lines) {
  let value;
  try {
    value = read(JSON.parse(line));
  } catch (error) {
    value = { refused: String(error) };
  }
  console.log(JSON.stringify(value));
}
