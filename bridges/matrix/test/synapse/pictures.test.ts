import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { create, update } from "../../../../test/harness/contents";
import { sharedService } from "../../../../test/harness/shared-service";
import { until } from "../../../../test/harness/wait";
import type { RoomMessage } from "../harness/fold-room";
import { card, idOf, startScene } from "../harness/scene";

const scene = startScene(sharedService(), { MATRIX_IMAGE_ALLOW: "127.0.0.1/32" });
const { fromBridge, says } = scene;

describe("images", () => {
  let server: Server;
  let base: string;
  const requests: string[] = [];
  const PNG = Buffer.from(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    "base64",
  );
  beforeAll(async () => {
    server = createServer((request, response) => {
      requests.push(String(request.url));
      const type = request.url?.endsWith(".png") ? "image/png" : "text/html";
      response.writeHead(200, { "content-type": type }).end(PNG);
    }).listen(0, "0.0.0.0");
    await once(server, "listening");
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => server.close());

  const picture = ({ msgtype }: RoomMessage) => msgtype === "m.image";

  test("an image is posted before the text, edited when it changes, and removed at the end", async () => {
    const { rig, ann } = scene;
    const room = await rig.room(ann);
    const id = await idOf(rig.publish(create(room, { ...card("A picture"), image: `${base}/a.png` })));
    await ann.sees(room, "the text", says("A picture"));
    const shown = (await ann.messages(room)).filter(fromBridge);
    expect(shown.map(({ msgtype }) => msgtype)).toEqual(["m.image", "m.text"]);
    const [first] = (await ann.events(room)).filter(({ content }) => content["msgtype"] === "m.image");
    expect(first?.content["info"]).toEqual({ mimetype: "image/png", size: PNG.byteLength, w: 1, h: 1 });
    await rig.publish(update(room, { ...card("The same"), id, image: `${base}/a.png` }));
    await ann.sees(room, "the update", says("The same"));
    await rig.publish(update(room, { ...card("Another"), id, image: `${base}/b.png` }));
    const edited = await ann.sees(room, "another image", (each) => picture(each) && each.edits === 1);
    expect(edited.eventId).toBe(shown[0]?.eventId);
    expect(edited.url).not.toBe(shown[0]?.url);
    await rig.publish(update(room, { ...card("None"), id }));
    await until("the image is removed", async () => !(await ann.messages(room)).some(picture));
    expect(requests).toEqual(["/a.png", "/b.png"]);
  });

  test("an image that cannot be shown is a link", async () => {
    const { rig, ann } = scene;
    const room = await rig.room(ann);
    await rig.publish(create(room, { ...card("A page"), image: `${base}/page` }));
    const message = await ann.sees(room, "the text", says("A page"));
    expect(message.body).toBe(`A page\n\n🖼 Picture (${base}/page)`);
    expect((await ann.messages(room)).some(picture)).toBe(false);
  });

  test("an image in the bridge's own network is a link, and is not fetched", async () => {
    const { rig, ann } = scene;
    const room = await rig.room(ann);
    const { port } = new URL(base);
    const before = requests.length;
    await rig.publish(
      create(room, { ...card("A picture"), image: `http://[::ffff:127.0.0.2]:${port}/a.png` }),
    );
    const message = await ann.sees(room, "the text", says("A picture"));
    expect(message.body).toContain("🖼 Picture (http");
    expect(requests).toHaveLength(before);
  });
});
