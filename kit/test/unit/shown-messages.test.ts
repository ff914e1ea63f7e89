import * as fc from "fast-check";
import { createShownMessages, type ShownMessage } from "../../shown-messages";
import { forAll } from "../../../test/harness/for-all";

function shownAs(n: number, channel: string, chatMessageIds: readonly string[], text = ""): ShownMessage {
  const head = { id: `msg_${n}`, kind: "card", text };
  return {
    messageId: head.id,
    channel,
    user: null,
    message: { ...head, buttons: [], image: null, awaitsReply: false, data: null },
    chatMessageIds,
    eventId: `evt_${n}`,
    sequence: n,
  };
}

const writes = fc.array(
  fc.record({
    n: fc.nat(20),
    channel: fc.constantFrom("c1", "c2", "dm:u1"),
    ids: fc.uniqueArray(fc.nat(2), { maxLength: 3 }),
    text: fc.string({ maxLength: 300 }),
  }),
  { maxLength: 60 },
);

test("the latest version of each recent message is found by its id, by the ids that the chat gave it, and in its channel", () => {
  const limits = { messages: 8, characters: 2_000 };
  forAll(writes, (all) => {
    const messages = createShownMessages(limits);
    let model: ShownMessage[] = [];
    for (const { n, channel, ids, text } of all) {
      const shown = shownAs(
        n,
        channel,
        ids.map((id) => `${n}-${id}`),
        text,
      );
      messages.put(shown);
      model = [...model.filter(({ messageId }) => messageId !== shown.messageId), shown];
      const length = () => model.reduce((sum, each) => sum + JSON.stringify(each).length, 0);
      while (model.length > limits.messages || length() > limits.characters) model.shift();
      expect(messages.all()).toEqual(model);
    }
    for (const channel of ["c1", "c2", "dm:u1"])
      expect(messages.inChannel(channel)).toEqual(
        model.filter((each) => each.channel === channel).toReversed(),
      );
    for (let n = 0; n <= 20; n++) {
      const expected = model.find(({ messageId }) => messageId === `msg_${n}`);
      expect(messages.byMessageId(`msg_${n}`)).toEqual(expected);
      for (const id of [0, 1, 2].map((each) => `${n}-${each}`))
        expect(messages.byChatMessageId(id)).toEqual(
          expected?.chatMessageIds.includes(id) === true ? expected : undefined,
        );
    }
  });
});

test("an id that the chat reuses refers to the newer message", () => {
  const messages = createShownMessages();
  messages.put(shownAs(1, "c1", ["chat-1"]));
  messages.put(shownAs(2, "c1", ["chat-1"]));
  messages.put(shownAs(1, "c1", ["chat-2"]));
  expect(messages.byChatMessageId("chat-1")?.messageId).toBe("msg_2");
});
