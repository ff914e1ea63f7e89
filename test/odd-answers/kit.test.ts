import { createBridge, storeInMemory } from "../../kit/index";
import { expectedStops, expectedVerdicts, judge, judgeStops, type Running } from "./judge";
import { startOddService, type OddService, type OddWorkspace } from "./odd-service";
import { ODD_ANSWERS } from "./rows";

let service: OddService;
beforeAll(async () => {
  service = await startOddService();
});
afterAll(() => service.close());

/** Starts a bridge in this process. If its first poll is refused, `exited` resolves to 1, like an exit code. */
async function startKit(
  baseUrl: string,
  { id: workspaceId, secret: secrets }: OddWorkspace,
): Promise<Running> {
  let output = "";
  const show = ({ message }: { message: { text: string } }): Promise<string> => {
    output += message.text;
    return Promise.resolve("1");
  };
  const bridge = createBridge({
    baseUrl,
    workspaceId,
    secrets,
    store: storeInMemory(),
    chat: { post: show, dm: show, ephemeral: show, update: show },
    report: ({ message }) => (output += message),
  });
  const exited = bridge.start().then(
    () => new Promise<null>(() => undefined),
    (error: Error) => {
      output += error.message;
      return 1;
    },
  );
  const user = { id: "u1", name: "Ada" };
  return {
    output: () => output,
    send: (text) => void bridge.command({ channel: "c1", user, text }),
    exited,
    stop: () => bridge.stop(),
  };
}

// time: ordering
test("a bridge with the kit continues after every odd answer", async () => {
  const seen = await judge(service, ODD_ANSWERS, { start: startKit, lanes: 20 });
  expect(seen).toEqual(expectedVerdicts(ODD_ANSWERS));
});

test("a bridge with the kit fails to start if its first poll is refused, but waits if the refusal has a Retry-After header", async () => {
  expect(await judgeStops(service, ODD_ANSWERS, startKit)).toEqual(expectedStops(ODD_ANSWERS));
});
