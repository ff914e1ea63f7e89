import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import ipaddr from "ipaddr.js";
import { createPictures } from "../../chat/pictures";

const FILES: Readonly<Record<string, Buffer>> = {
  png: Buffer.from(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    "base64",
  ),
  gif: Buffer.from("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7", "base64"),
  text: Buffer.from("the password of the database is: password"),
  svg: Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'),
  empty: Buffer.alloc(0),
};
let open = 0;
let mostOpen = 0;
const server = createServer((request, response) => {
  open += 1;
  mostOpen = Math.max(mostOpen, open);
  response.on("close", () => (open -= 1));
  const [, name = "", label = ""] = new URL(request.url ?? "", "http://a").pathname.split("/");
  const [kind = ""] = name.split("-");
  setImmediate(() => response.writeHead(200, { "content-type": `image/${label}` }).end(FILES[kind]));
});
beforeAll(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterAll(async () => {
  server.close();
  await once(server, "close");
});

const uploads: string[] = [];
const failures: string[] = [];
function pictures(allow = "127.0.0.0/8") {
  uploads.length = failures.length = 0;
  return createPictures({
    signal: new AbortController().signal,
    allow: [ipaddr.parseCIDR(allow)],
    api: { upload: async (_bytes, type, name) => `mxc://s/${uploads.push(`${type} ${name}`)}` },
    onFailure: (reason) => failures.push(reason),
  });
}
const upload = (from: ReturnType<typeof pictures>, path: string) =>
  from.upload(`http://127.0.0.1:${(server.address() as AddressInfo).port}/${path}`);

test.each([
  ["png/png", "image/png picture.png"],
  ["gif/gif", "image/gif picture.gif"],
  // The content is an image of a different type than the `Content-Type`.
  ["gif/png", "image/gif picture.gif"],
])("the content of %s is an image, and is uploaded with its type", async (path, uploaded) => {
  const picture = await upload(pictures(), path);
  expect(picture?.measured).toEqual({ w: 1, h: 1 });
  expect(uploads).toEqual([uploaded]);
});

test.each(["text/png", "svg/png", "svg/svg+xml", "empty/gif", "png/tiff"])(
  "%s is not an image that clients show, and is not uploaded",
  async (path) => {
    expect(await upload(pictures(), path)).toBeUndefined();
    expect(uploads).toEqual([]);
    expect(failures).toEqual(["the answer is not an image"]);
  },
);

test("an image at an address that is not public and not allowed is not fetched", async () => {
  expect(await upload(pictures("10.0.0.0/8"), "png/png")).toBeUndefined();
  expect(uploads).toEqual([]);
  expect(failures).toEqual(["the host has an address that is not public (loopback)"]);
});

test("an image that failed is not fetched again for each edit of its message", async () => {
  const from = pictures();
  for (let i = 0; i < 3; i += 1) expect(await upload(from, "text/png")).toBeUndefined();
  expect(failures).toEqual(["the answer is not an image"]);
});

test("only a few images are in memory at the same time, and all are uploaded", async () => {
  mostOpen = 0;
  const from = pictures();
  const all = await Promise.all(Array.from({ length: 30 }, (_, i) => upload(from, `png-${i}/png`)));
  expect(all.filter((picture) => picture !== undefined)).toHaveLength(30);
  expect(mostOpen).toBeLessThanOrEqual(4);
});

test("an image that was uploaded while others waited for it is not fetched again", async () => {
  const from = pictures();
  const all = await Promise.all(Array.from({ length: 30 }, () => upload(from, "png-same/png")));
  expect(all.filter((picture) => picture !== undefined)).toHaveLength(30);
  // Only the first few tasks run at the same time and upload the image; the others reuse the upload.
  expect(uploads.length).toBeLessThanOrEqual(4);
});
