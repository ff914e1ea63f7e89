import { MessageKind } from "../../proto/gen/chatbridge/v1/event";
import type { OutboundEvent } from "../../proto/gen/chatbridge/v1/game";
import { poll } from "../harness/bridge";
import { createWorkspace, publish } from "../harness/service";
import { sharedService } from "../harness/shared-service";

const TEN_MINUTES_MS = 600_000;
const ONE_MINUTE_MS = 60_000;
const NEVER_STALE = null;

const service = sharedService();

type Fields = NonNullable<Parameters<typeof OutboundEvent.create>[0]>;

interface Envelope {
  readonly createdAt: string;
  readonly expiresAt: string | null;
  readonly message: { readonly kind: string };
}

/** Publishes to a workspace of their own and polls; publishing must have answered each as the envelope has it. */
async function hold(...events: Omit<Fields, "workspaceId">[]): Promise<readonly Envelope[]> {
  const workspace = await createWorkspace(service.clients);
  const results = await publish(
    service.clients,
    ...events.map((event) => ({ ...event, workspaceId: workspace.id })),
  );
  const page = (await poll(service.url, workspace)).json as { events: readonly Envelope[] };
  expect(page.events).toHaveLength(events.length);
  const answered = results.map(({ outcome }) => {
    if (outcome?.$case !== "published") throw new Error("an event was refused");
    return outcome.value.expiresAt?.toISOString() ?? null;
  });
  expect(page.events.map(({ expiresAt }) => expiresAt)).toEqual(answered);
  return page.events;
}

function lifetimeOf({ createdAt, expiresAt }: Envelope): number | null {
  return expiresAt === null ? null : Date.parse(expiresAt) - Date.parse(createdAt);
}

const LIFETIMES: readonly (readonly [string, number | null])[] = [
  ["text", TEN_MINUTES_MS],
  ["card", TEN_MINUTES_MS],
  ["game_start", TEN_MINUTES_MS],
  ["question", TEN_MINUTES_MS],
  ["time_up", TEN_MINUTES_MS],
  ["answer_update", TEN_MINUTES_MS],
  ["gotcha_bait", TEN_MINUTES_MS],
  ["gotcha_reveal", TEN_MINUTES_MS],
  ["game_end", TEN_MINUTES_MS],
  ["help", TEN_MINUTES_MS],
  ["settings", TEN_MINUTES_MS],
  ["categories", TEN_MINUTES_MS],
  ["leaderboard", TEN_MINUTES_MS],
  ["category_champs", TEN_MINUTES_MS],
  ["async_announcement", NEVER_STALE],
  ["async_question", NEVER_STALE],
  ["async_results", NEVER_STALE],
  ["icebreaker", NEVER_STALE],
  ["icebreaker_results", NEVER_STALE],
  ["small_talk", NEVER_STALE],
  ["kyt_reveal", NEVER_STALE],
  ["weekly_digest", NEVER_STALE],
  ["anagram", NEVER_STALE],
  ["wordgame_start", NEVER_STALE],
  ["wordgame_board", NEVER_STALE],
  ["wordgame_expired", NEVER_STALE],
  ["hangman_board", NEVER_STALE],
  ["hangman_end", NEVER_STALE],
  ["drawing_invite", TEN_MINUTES_MS],
  ["schedule_creator", NEVER_STALE],
  ["schedule_list", NEVER_STALE],
  ["prefs", TEN_MINUTES_MS],
];
const kindOf = (name: string): MessageKind => MessageKind[name.toUpperCase() as keyof typeof MessageKind];

test("the table below has every kind", () => {
  const kinds = Object.keys(MessageKind).filter((name) => /^[A-Z]/.test(name) && name !== "UNSPECIFIED");
  expect(LIFETIMES.map(([name]) => name.toUpperCase())).toEqual(kinds);
});

describe("expiresAt is, in ms after createdAt,", () => {
  // contract: lifetime-60s, lifetime-10min, lifetime-never
  test.each(LIFETIMES)("for %s %p, and a minute for an ephemeral", async (name, lifetimeMs) => {
    const message = { kind: kindOf(name), text: "hi" };
    const held = await hold(
      { content: { $case: "messageCreate", value: { channel: "c1", message } } },
      {
        content: {
          $case: "messageUpdate",
          value: { channel: "c1", message: { ...message, id: "msg_01ARZ3NDEKTSV4RRFFQ69G5FAV" } },
        },
      },
      { content: { $case: "dmCreate", value: { user: "u1", message } } },
      { content: { $case: "messageEphemeral", value: { channel: "c1", user: "u1", message } } },
    );
    expect(held.map(({ message: { kind } }) => kind)).toEqual([name, name, name, name]);
    expect(held.map(lifetimeOf)).toEqual([lifetimeMs, lifetimeMs, lifetimeMs, ONE_MINUTE_MS]);
  });

  test.each([
    [{ seconds: 1, nanos: 0 }, 1_000],
    [{ seconds: 90, nanos: 500_000_000 }, 90_500],
    [{ seconds: 86_400, nanos: 0 }, 86_400_000],
  ])(
    "the lifetime %j that the game service gives, whatever the type and kind",
    async (lifetime, lifetimeMs) => {
      const message = { kind: MessageKind.ICEBREAKER, text: "hi" };
      const held = await hold(
        { content: { $case: "messageCreate", value: { channel: "c1", message } }, lifetime },
        { content: { $case: "messageEphemeral", value: { channel: "c1", user: "u1", message } }, lifetime },
      );
      expect(held.map(lifetimeOf)).toEqual([lifetimeMs, lifetimeMs]);
    },
  );
});
