import { StringDecoder } from "node:string_decoder";

/** Maximum characters of a line. The protocol allows 8,191 bytes of tags and 512 bytes of text. */
const LINE_MAX = 16_384;

/** Returns a function that splits received bytes into lines. Cuts lines that are longer than `LINE_MAX`. */
export function createLineReader(onLine: (line: string) => void): (chunk: Buffer) => void {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  return (chunk) => {
    const lines = (rest + decoder.write(chunk)).split("\n");
    rest = (lines.pop() ?? "").slice(0, LINE_MAX);
    for (const line of lines) onLine(line.slice(0, LINE_MAX));
  };
}
