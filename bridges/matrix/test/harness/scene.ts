import { MessageKind } from "../../../../proto/gen/chatbridge/v1/event";
import { published, type MessageInit } from "../../../../test/harness/contents";
import type { Service } from "../../../../test/harness/service";
import type { RoomMessage } from "./fold-room";
import type { MatrixMember } from "./matrix-member";
import { startRig, type MatrixRig } from "./matrix-rig";
import { startSynapse, SYNAPSE_WITHIN_MS, type TestSynapse } from "./synapse";

/** Starts a homeserver, a bridge and two members for the tests of one file. `settings` are the bridge's settings. */
export function startScene(service: Service, settings: Readonly<Record<string, string>> = {}) {
  const parts = {} as { synapse: TestSynapse; rig: MatrixRig; ann: MatrixMember; bob: MatrixMember };
  beforeAll(async () => {
    parts.synapse = await startSynapse();
    [parts.ann, parts.bob] = await Promise.all([parts.synapse.member("ann"), parts.synapse.member("bob")]);
    parts.rig = await startRig(service, parts.synapse, { account: "games", settings });
  }, SYNAPSE_WITHIN_MS);
  afterAll(async () => {
    await parts.rig?.close();
    await parts.synapse?.close();
  });

  const fromBridge = ({ sender }: RoomMessage) => sender === parts.rig.id;
  const says = (words: string) => (message: RoomMessage) =>
    fromBridge(message) && message.body.includes(words);
  return Object.assign(parts, {
    service,
    fromBridge,
    /** Returns whether a message from the bridge contains these words. */
    says,
    /** Waits until the message with these words has exactly these keycap reactions from the bridge. */
    seesKeycaps: (room: string, words: string, ...keys: readonly string[]) =>
      parts.ann.sees(room, `the keycaps ${keys.join(" ")}`, (message) => {
        return says(words)(message) && keysOf(message, parts.rig.id).join() === keys.join();
      }),
  });
}

/** Returns a member's reactions to a message. */
export const keysOf = ({ reactions }: RoomMessage, member: string): readonly string[] =>
  reactions.filter(({ sender }) => sender === member).map(({ key }) => key);

/** A card with one action button for each label. The action of the button "A" is "do A". */
export function card(text: string, ...labels: readonly string[]): MessageInit {
  const buttons = labels.map((label) => ({
    label,
    press: { $case: "action" as const, value: `do ${label}` },
  }));
  return { kind: MessageKind.CARD, text, rows: buttons.length === 0 ? [] : [{ buttons }] };
}

/** Resolves to the id of the first published message. */
export const idOf = async (results: ReturnType<MatrixRig["publish"]>): Promise<string> =>
  published((await results)[0]).messageId;
