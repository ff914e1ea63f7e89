import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { create, update } from "../../../../test/harness/contents";
import { sharedService } from "../../../../test/harness/shared-service";
import { until } from "../../../../test/harness/wait";
import type { RoomMessage } from "../harness/fold-room";
import { startRig } from "../harness/matrix-rig";
import { card, idOf, startScene } from "../harness/scene";

const service = sharedService();
const scene = startScene(service, { MATRIX_IMAGE_ALLOW: "127.0.0.1/32" });
const { fromBridge, says } = scene;

describe("images", () => {
  let server: Server;
  let base: string;
  const requests: string[] = [];
  /** Lets the server answer requests for `/slow.png`. */
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  const PNG = Buffer.from(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    "base64",
  );
  beforeAll(async () => {
    server = createServer((request, response) => {
      requests.push(String(request.url));
      const type = request.url?.endsWith(".png") ? "image/png" : "text/html";
      const answer = (): void => void response.writeHead(200, { "content-type": type }).end(PNG);
      if (request.url === "/slow.png") void released.then(answer);
      else answer();
    }).listen(0, "0.0.0.0");
    await once(server, "listening");
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => server.close());

  const picture = ({ msgtype }: RoomMessage) => msgtype === "m.image";

  test("an image and its text are one message, in which the image can change", async () => {
    const { rig, ann } = scene;
    const room = await rig.room(ann);
    const message = { ...card("**A** picture", "Yes"), image: `${base}/a.png` };
    const id = await idOf(rig.publish(create(room, message)));
    await ann.sees(room, "the text", says("A picture"));
    const shown = (await ann.messages(room)).filter(fromBridge);
    expect(shown.map(({ msgtype }) => msgtype)).toEqual(["m.image"]);
    const [first] = (await ann.events(room)).filter(({ content }) => content["msgtype"] === "m.image");
    // A `filename` that differs from the `body` makes the `body` a caption.
    expect(first?.content).toMatchObject({
      body: "A picture\n\n1️⃣ Yes",
      filename: "picture.png",
      format: "org.matrix.custom.html",
      formatted_body: "<p><strong>A</strong> picture</p><p>1️⃣ Yes</p>",
      info: { mimetype: "image/png", size: PNG.byteLength, w: 1, h: 1 },
      "m.mentions": {},
    });
    await rig.publish(update(room, { ...card("The same"), id, image: `${base}/a.png` }));
    await ann.sees(room, "the update", says("The same"));
    await rig.publish(update(room, { ...card("Another"), id, image: `${base}/b.png` }));
    const edited = await ann.sees(room, "another image", (each) => says("Another")(each) && picture(each));
    expect(edited).toMatchObject({ eventId: shown[0]?.eventId, body: "Another", edits: 2 });
    expect(edited.url).not.toBe(shown[0]?.url);
    await rig.publish(update(room, { ...card("None"), id }));
    const last = await ann.sees(room, "the text without an image", says("None"));
    expect(last).toMatchObject({ eventId: shown[0]?.eventId, msgtype: "m.text", url: undefined });
    expect((await ann.messages(room)).filter(fromBridge)).toHaveLength(1);
    expect(requests).toEqual(["/a.png", "/b.png"]);
  });

  // time: ordering
  test("a question does not wait for a slow image: the image is a link at first, and the next edit shows it", async () => {
    const { rig, ann } = scene;
    const room = await rig.room(ann);
    const image = `${base}/slow.png`;
    const id = await idOf(rig.publish(create(room, { ...card("Which flag?", "A"), image })));
    const message = await ann.sees(room, "the question", says("Which flag?"));
    expect(message).toMatchObject({ msgtype: "m.text", body: `Which flag?\n\n🖼 Picture (${image})\n1️⃣ A` });
    release();
    await until("the upload is complete, and an edit shows the image", async () => {
      await rig.publish(update(room, { ...card("Which flag? 1 answer", "A"), id, image }));
      const newer = (await ann.messages(room)).find(({ eventId }) => eventId === message.eventId);
      return newer?.msgtype === "m.image" && newer.body === "Which flag? 1 answer\n\n1️⃣ A";
    });
    expect(requests.filter((path) => path === "/slow.png")).toHaveLength(1);
  });

  test("with MATRIX_PICTURES=link, an image is a link, and is not fetched", async () => {
    const { ann, synapse } = scene;
    const settings = { MATRIX_PICTURES: "link", MATRIX_IMAGE_ALLOW: "127.0.0.1/32" };
    const rig = await startRig(service, synapse, { account: "links", settings });
    const room = await rig.room(ann);
    await rig.publish(create(room, { ...card("A picture"), image: `${base}/never.png` }));
    const message = await ann.sees(room, "the text", ({ body }) => body.startsWith("A picture"));
    expect(message).toMatchObject({ msgtype: "m.text", body: `A picture\n\n🖼 Picture (${base}/never.png)` });
    expect(requests).not.toContain("/never.png");
    await rig.close();
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
