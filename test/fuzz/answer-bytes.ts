import type { Random } from "./random";

/** Valid status lines of HTTP/1.1, without the leading `HTTP/1.1`. */
const STATUSES = [
  "200 OK",
  "200",
  "204 X",
  "304 X",
  "400 X",
  "500 No",
  "500",
  "500 ",
  "503 caf\u00e9",
  "600 \t",
  "999 Y",
];
/** Status lines that most parsers reject, or that have a special meaning. */
const ODD_LINES =
  `HTTP/1.0 200 OK|HTTP/1.0 500 X|HTTP/1.2 200 OK|HTTP/2.0 200 OK|HTTP/0.9 200 OK|HTTP/2 200|http/1.1 200 OK
HTTP/1.1  200 OK|HTTP/1.1\t200 OK|ICY 200 OK|RTSP/1.1 200 OK||HTTP/1.1 101 X|HTTP/1.1 1000 X|HTTP/1.1 99 X|HTTP/1.1 20x OK
HTTP/1.1 500X|HTTP/1.1 0500 X|HTTP/1.1 500 a\u0007b|HTTP/1.1 500\r\r`.split(/[|\n]/);
const INTERIM = ["HTTP/1.1 100 Continue", "HTTP/1.1 103 Early Hints", "HTTP/1.1 102 X", "HTTP/1.0 100 X"];
const NAMES = split("Content-Length|Transfer-Encoding|Connection|Keep-Alive|Date|X-A|Upgrade|Trailer");
const ODD_NAMES = split(
  "content-length|TRANSFER-encoding|cOnnection|Content-Length | X||X\u00e9|X Y|X@|~^_`",
);
const VALUES: Readonly<Record<string, readonly string[]>> = {
  "content-length": split("0|1|2|5|5|5|17|+2|-1|5, 5|2, 3|0x2|2 ||02|2a|99999999999999999999"),
  "transfer-encoding": split(
    "chunked|chunked|Chunked|gzip, chunked|chunked, gzip|identity|chunked, chunked|chunke||x",
  ),
  connection: split("close|keep-alive|Close, X|upgrade||x,close"),
  "keep-alive": split("timeout=5|timeout=5, max=3|x"),
};
const OTHER_VALUES = ["x", "", "a: b", "\t x \t", "caf\u00e9", "x".repeat(300)];
const ODD_VALUES = split("a\u0000b|a\u0007b|a\u007fb|a\rb|a\nb|2|chunked|close");
const LINE_ENDS = ["\n", "\r", "\r\n ", "\r\n\t", "\r\r\n", "\r\r\r\n", ""];
const CHUNK_SIZES = split(
  '0|1|2|5|a|A|00|0002|000000002|1;a=b|1;a="b;c"|1 | 1|1\t;x|g||-1|ffffffff|fffffffffffffffff|1;\u00e9|1;a\u0007',
);
const BODIES = ["", "ok", "x", "12345", "hello", "x".repeat(17), "x".repeat(1_100)];

function split(list: string): readonly string[] {
  return list.split("|");
}

/** Returns the bytes of an answer: mostly well-formed, with a few faults. */
export function answerBytes(random: Random): Buffer {
  const parts: string[] = [];
  while (random.oneIn(8)) parts.push(headOf(random, random.pick(INTERIM)));
  if (random.oneIn(60)) parts.push(random.pick(["\r\n", "\n", " ", "x"]));
  const line = random.oneIn(15) ? random.pick(ODD_LINES) : `HTTP/1.1 ${random.pick(STATUSES)}`;
  switch (random.int(9)) {
    case 0:
    case 1:
      parts.push(headOf(random, `${line}\r\nContent-Length: 5`), "hello");
      break;
    case 2:
    case 3:
    case 4:
      parts.push(headOf(random, line), bodyOf(random));
      break;
    default:
      parts.push(headOf(random, `${line}\r\nTransfer-Encoding: chunked`), chunksOf(random));
  }
  if (random.oneIn(10)) parts.push(random.pick(["x", "\r\n", "HTTP/1.1 200 OK\r\n\r\n"]));
  const bytes = Buffer.from(parts.join(""), "latin1");
  return random.oneIn(3) ? mutated(random, bytes) : bytes;
}

/** Splits bytes at random places. */
export function piecesOf(random: Random, bytes: Buffer): readonly Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length;) {
    const size = random.oneIn(3) ? 1 + random.int(3) : 1 + random.int(bytes.length);
    pieces.push(bytes.subarray(at, at + size));
    at += size;
  }
  return pieces;
}

function headOf(random: Random, line: string): string {
  const lines = [line];
  for (let count = random.int(4); count > 0; count--) lines.push(fieldOf(random));
  const end = (): string => (random.oneIn(60) ? random.pick(LINE_ENDS) : "\r\n");
  return lines.map((each) => each + end()).join("") + end();
}

function fieldOf(random: Random): string {
  const name = random.oneIn(20) ? random.pick(ODD_NAMES) : random.pick(NAMES);
  const values = VALUES[name.trim().toLowerCase()] ?? OTHER_VALUES;
  const colon = random.oneIn(20) ? random.pick(["", ":", ":\t", " : ", ":  ", ":\u00a0"]) : ": ";
  return name + colon + random.pick(random.oneIn(40) ? ODD_VALUES : values);
}

function bodyOf(random: Random): string {
  return random.oneIn(2) ? chunksOf(random) : random.pick(BODIES);
}

function chunksOf(random: Random): string {
  const chunks: string[] = [];
  for (let count = random.int(4); count > 0; count--) {
    const size = 1 + random.int(12);
    const line = random.oneIn(6) ? random.pick(CHUNK_SIZES) : size.toString(16);
    chunks.push(`${line}\r\n${"y".repeat(size)}${random.oneIn(40) ? random.pick(LINE_ENDS) : "\r\n"}`);
  }
  const trailer = random.oneIn(5) ? `${fieldOf(random)}\r\n` : "";
  return `${chunks.join("")}${random.oneIn(8) ? random.pick(CHUNK_SIZES) : "0"}\r\n${trailer}\r\n`;
}

/** Removes, repeats, replaces or cuts some of the bytes. */
function mutated(random: Random, bytes: Buffer): Buffer {
  let result = bytes;
  for (let count = 1 + random.int(2); count > 0 && result.length > 0; count--) {
    const at = random.int(result.length);
    const [before, after] = [result.subarray(0, at), result.subarray(at)];
    switch (random.int(5)) {
      case 0:
        result = Buffer.concat([before, after.subarray(1)]);
        break;
      case 1:
        result = Buffer.concat([before, after.subarray(0, 1 + random.int(8)), after]);
        break;
      case 2:
        result = Buffer.concat([before, Buffer.from([random.int(256)]), after.subarray(1)]);
        break;
      case 3:
        result = Buffer.concat([
          before,
          Buffer.from([random.pick([0x0d, 0x0a, 0x20, 0x09, 0x00, 0x3a])]),
          after,
        ]);
        break;
      default:
        result = before;
    }
  }
  return result;
}
