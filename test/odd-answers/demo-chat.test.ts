import { joinChat, type ChatMember } from "../harness/chat-member";
import { startProcess } from "../harness/processes";
import { expectedVerdicts, judge, type Running } from "./judge";
import { startOddService, type OddService, type OddWorkspace } from "./odd-service";
import { ODD_ANSWERS } from "./rows";

let service: OddService;
beforeAll(async () => {
  service = await startOddService();
});
afterAll(() => service.close());

async function startDemo(baseUrl: string, { id, secret }: OddWorkspace): Promise<Running> {
  const chat = await startProcess("demo/chat", {
    BASE_URL: baseUrl,
    WORKSPACE_ID: id,
    SIGNING_SECRET: secret,
    CHAT_LISTEN: "127.0.0.1:0",
  });
  const member: ChatMember = await joinChat(`http://127.0.0.1:${chat.port}`, "Ada");
  const shown = () =>
    [...member.posts.values()].map((post) => (post.by === "service" ? post.message.text : ""));
  return {
    output: () => shown().join("\n"),
    send: (text) => void member.say(`/play ${text}`),
    exited: new Promise((resolve) => chat.child.once("exit", resolve)),
    stop() {
      member.leave();
      return chat.stop("SIGKILL");
    },
  };
}

/**
 * The demo chat never stops polling. When a poll is refused, the chat shows the problem, and polls again after 30
 * seconds.
 */
const ROWS = ODD_ANSWERS.map((row) => (row.poll === "stop" ? { ...row, poll: "retry" as const } : row));

// The answers are divided among 11 instances of the chat. With 11 instances, no instance gets both an answer that times
// out and a refusal, each of which takes 30 seconds. time: ordering
test("the demo chat continues after every odd answer", async () => {
  const seen = await judge(service, ROWS, { start: startDemo, lanes: 11, channel: () => "general" });
  expect(seen).toEqual(expectedVerdicts(ROWS));
});
