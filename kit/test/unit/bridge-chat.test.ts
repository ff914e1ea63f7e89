import { savingChat } from "../../bridge-chat";
import { storeInMemory } from "../../message-store";
import { PendingCalls } from "../../pending-calls";
import { createShownMessages } from "../../shown-messages";
import { recordingChat } from "../harness/bridge-chat";
import { gate } from "../harness/gate";
import { create, update } from "./reduce-events";

const { signal } = new AbortController();

// time: ordering
test("if a post succeeds late, after a retry and an update, its id is added, and the update is kept", async () => {
  const { chat } = recordingChat();
  const { open, opened } = gate();
  let posts = 0;
  const shown = createShownMessages();
  const saving = savingChat({
    chat: {
      ...chat,
      async post() {
        const id = `post-${++posts}`;
        if (id === "post-1") await opened;
        return id;
      },
    },
    shown,
    calls: new PendingCalls(),
    messages: storeInMemory().messages,
    report: () => undefined,
  });
  const late = saving.post(create("c1", 1), signal);
  await saving.post(create("c1", 1), signal);
  await saving.edit("msg_1", update({ sequence: 2, text: "updated" }), signal);
  open();
  await late;
  expect(shown.byChatMessageId("post-1")).toMatchObject({
    message: { text: "updated" },
    chatMessageIds: ["post-2", "post-1"],
    eventId: "evt_2",
    sequence: 2,
  });
});

test("an update is shown in the channel of its message, even if the update names another channel", async () => {
  const { chat, calls } = recordingChat();
  const { messages } = storeInMemory();
  const shown = createShownMessages();
  const saving = savingChat({ chat, shown, calls: new PendingCalls(), messages, report: () => undefined });
  await saving.post(create("c1", 1), signal);
  await saving.edit("msg_1", update(2, "another channel"), signal);
  expect(calls.map(({ call, where }) => `${call} ${where}`)).toEqual(["post c1", "update c1"]);
});
