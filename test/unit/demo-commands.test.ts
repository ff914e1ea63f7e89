import { MessageKind } from "../../proto/gen/chatbridge/v1/event";
import { atQuestion, kinds, MESSAGE_ID, table, texts } from "../harness/game-table";

test("a rematch pressed in a direct message opens a lobby in the channel, and the buttons go", () => {
  const here = table();
  expect(here.press("ann", "rematch:c9", "dm:ann")).toMatchObject([
    { type: "message.create", channel: "c9", content: { kind: MessageKind.GAME_START } },
    { type: "message.update", channel: "dm:ann", target: { messageId: MESSAGE_ID } },
  ]);
  expect(texts(here.press("ann", "rematch:c9", "dm:ann"))).toContain("A game is on there already");
});

test("buttons of the settings change them within bounds, for their channel", () => {
  const here = table();
  expect(texts(here.command("ann", "settings"))).toContain("Rounds: **2**");
  expect(here.press("ann", "rounds:-1")).toMatchObject([
    { type: "message.update", channel: "c1", target: { messageId: MESSAGE_ID } },
  ]);
  expect(texts(here.press("ann", "rounds:-1"))).toContain("Rounds: **1**");
  for (let i = 0; i < 20; i++) here.press("ann", "seconds:5");
  expect(texts(here.command("ann", "settings"))).toContain("question: **60**");
  expect(texts(here.press("ann", "seconds:-5", "c2"))).toContain("question: **5**");
});

describe("a prompt in a direct message", () => {
  // contract: message-awaits-reply
  test.each([
    ["without a reply", undefined],
    ["as a reply to it", "e1"],
    ["as a reply to something else", null],
  ] as const)("takes the next typed message, %s, once", (_name, replyTo) => {
    const here = table();
    expect(here.command("ann", "suggest")).toMatchObject([
      { type: "dm.create", user: "ann", ref: "e1", content: { awaitsReply: true } },
    ]);
    expect(here.types("ann", "*volcanoes*", replyTo, "dm:ann")).toMatchObject([
      { type: "message.update", channel: "dm:ann", target: { ref: "e1" } },
      {
        type: "message.create",
        channel: "c1",
        content: { text: "**Ann** suggests a topic:\n\n> \\*volcanoes\\*" },
      },
    ]);
    expect(here.types("ann", "more", undefined, "dm:ann")).toEqual([]);
  });

  test.each<[string, string, string | null | undefined, string]>([
    ["in a channel", "ann", undefined, "c1"],
    ["by someone else", "bob", undefined, "dm:bob"],
  ])("is not answered by what is typed %s", (_name, who, replyTo, channel) => {
    const here = table();
    here.command("ann", "suggest");
    expect(here.types(who, "volcanoes", replyTo, channel)).toEqual([]);
  });
});

test.each<[string, string, string]>([
  ["", "message.create", "HELP"],
  ["help", "message.create", "HELP"],
  ["leaderboard", "message.create", "LEADERBOARD"],
  ["settings", "message.create", "SETTINGS"],
  ["suggest", "dm.create", "CARD"],
  ["stop", "message.ephemeral", "CARD"],
  ["dance", "message.ephemeral", "CARD"],
])("the command %j is answered by a %s of the kind %s", (text, type, kind) => {
  expect(kinds(table().command("ann", text))).toEqual([`${type} ${kind}`]);
});

test("only whoever opened a game can stop it", () => {
  const here = atQuestion();
  expect(kinds(here.command("bob", "stop"))).toEqual(["message.ephemeral CARD"]);
  expect(kinds(here.command("ann", "stop"))).toEqual(["message.update GAME_END"]);
});
