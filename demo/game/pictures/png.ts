import { crc32, deflateSync } from "node:zlib";

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const BITS_PER_CHANNEL = 8;
const TRUECOLOUR = 2;

/** Encodes a PNG from the colours that `colourAt` returns for each pixel, as 0xRRGGBB. */
export function encodePng(width: number, height: number, colourAt: (x: number, y: number) => number): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([BITS_PER_CHANNEL, TRUECOLOUR], 8);

  // Each line begins with a byte for its filter; 0 means none.
  const lineBytes = 1 + width * 3;
  const lines = Buffer.alloc(height * lineBytes);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) lines.writeUIntBE(colourAt(x, y), y * lineBytes + 1 + x * 3, 3);
  }
  return Buffer.concat([
    SIGNATURE,
    chunk("IHDR", header),
    chunk("IDAT", deflateSync(lines)),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const whole = Buffer.alloc(body.length + 8);
  whole.writeUInt32BE(data.length, 0);
  body.copy(whole, 4);
  whole.writeUInt32BE(crc32(body), body.length + 4);
  return whole;
}
