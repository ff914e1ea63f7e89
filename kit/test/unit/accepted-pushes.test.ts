import { ACCEPTED_MAX_BYTES, AcceptedPushes } from "../../accepted-pushes";
import { createCatchUp } from "../../catch-up";
import type { MessageCreate, OutboundEvent } from "../../events";
import type { PushStore } from "../../push-store";
import { initialState } from "../../reduce-state";
import { create, message, ONE_OF_EACH } from "../../../test/harness/sample-events";
import { until } from "../../../test/harness/wait";
import { gate } from "../harness/gate";

const idle = initialState();

/** Returns accepted pushes with a store that records its calls. `change` replaces functions of the store. */
function start(change: Partial<PushStore> = {}) {
  const calls: string[] = [];
  const problems: string[] = [];
  const store: PushStore = {
    load: async () => [],
    add: async ({ id }) => void calls.push(`add ${id}`),
    remove: async (id) => void calls.push(`remove ${id}`),
    ...change,
  };
  const accepted = new AcceptedPushes(store, (problem) => problems.push(problem.message));
  return { accepted, calls, problems };
}

/** Returns a create of about a million bytes. */
function large(number: number): OutboundEvent {
  return {
    ...create(number),
    type: "message.create",
    channel: "c1",
    message: { ...message(number), text: "ä".repeat(500_000) },
  };
}

test("if the pending events reach 16 MiB, further events are rejected until earlier events are done", async () => {
  const { accepted, calls } = start();
  let added = 0;
  const fill = async () => {
    for (;;) await accepted.add(large(++added));
  };
  await expect(fill()).rejects.toThrow(
    `no room for the event: ${ACCEPTED_MAX_BYTES} bytes of events wait for the chat; check why the chat does not accept them`,
  );
  expect(added).toBe(Math.floor(ACCEPTED_MAX_BYTES / 1_000_000) + 1);
  expect(calls).toHaveLength(added - 1);
  accepted.passOn(create(1).id, idle);
  await accepted.add(large(added));
  await expect(accepted.add(large(added + 1))).rejects.toThrow("wait for the chat");
});

test("loaded events count towards the limit of 16 MiB", async () => {
  const { accepted } = start({ load: async () => Array.from({ length: 16 }, (_, i) => large(i)) });
  await accepted.load();
  await expect(accepted.add(large(17))).rejects.toThrow("wait for the chat");
});

test("an event that the store rejects is not accepted, and does not count towards the limit", async () => {
  let isFull = true;
  const add = async () => {
    if (isFull) throw new Error("no space left");
  };
  const { accepted } = start({ add });
  for (let number = 1; number <= 20; number++) {
    await expect(accepted.add(large(number))).rejects.toThrow("no space left");
  }
  isFull = false;
  await accepted.add(large(1));
});

test("an event is removed from the store once it has been passed to the catch-up and is no longer pending", async () => {
  const { accepted, calls } = start();
  const { open, opened } = gate();
  const post = async ({ id }: { id: string }) => {
    await opened;
    return id;
  };
  const show = async () => undefined;
  const chat = { post, dm: post, edit: show, ephemeral: show };
  const catchUp = createCatchUp({ chat, onState: (state) => accepted.removeDone(state) });
  const { "message.create": created, "message.update": updated } = ONE_OF_EACH;
  for (const event of [created, updated]) {
    await accepted.add(event);
    await catchUp.handleEvent(event);
    accepted.passOn(event.id, catchUp.state);
  }
  // While an event is pending, handling its repeat does not remove it from the store.
  await catchUp.handleEvent(created);
  accepted.passOn(created.id, catchUp.state);
  await accepted.add(created);
  await accepted.idle();
  expect(calls).toEqual([`add ${created.id}`, `add ${updated.id}`]);
  open();
  await catchUp.close();
  await accepted.idle();
  expect(calls.slice(2)).toEqual([`remove ${created.id}`]);
});

test("a removal that fails is reported", async () => {
  const remove = () => Promise.reject(new Error("read-only file system"));
  const { accepted, problems } = start({ remove });
  await accepted.add(create(1));
  accepted.passOn(create(1).id, idle);
  await accepted.idle();
  expect(problems).toEqual([expect.stringMatching(/^cannot remove evt_\S+ from the store .*read-only/)]);
});

test("if the catch-up is closed before it gets the loaded events, the events stay in the store", async () => {
  const { accepted, calls } = start({ load: async () => [create(1), create(2)] });
  const chat = {
    post: async () => "1",
    dm: async () => "1",
    edit: async () => undefined,
    ephemeral: async () => undefined,
  };
  const catchUp = createCatchUp({ chat });
  await catchUp.close();
  await accepted.load();
  await accepted.resume(catchUp);
  await accepted.idle();
  expect(calls).toEqual([]);
});

test("loaded events of a channel without room do not delay the loaded events of other channels", async () => {
  const other = (number: number) => ({ ...create(number), channel: "c2" }) as OutboundEvent;
  const events = [create(1), create(2), other(3)];
  const { accepted } = start({ load: async () => events });
  const { open, opened } = gate();
  const shown: string[] = [];
  const post = async ({ id, channel }: MessageCreate) => {
    if (channel === "c1") await opened;
    shown.push(id);
    return id;
  };
  const nothing = async () => undefined;
  const chat = { post, dm: async () => "1", edit: nothing, ephemeral: nothing };
  const catchUp = createCatchUp({ chat, state: initialState({ place: 1 }) });
  await accepted.load();
  const resumed = accepted.resume(catchUp);
  await accepted.resumed(other(4));
  await until("the other channel is shown", () => shown.length === 1);
  expect(shown).toEqual([create(3).id]);
  open();
  await resumed;
  await until("all events are shown", () => shown.length === 3);
  expect(shown.slice(1)).toEqual([create(1).id, create(2).id]);
  await catchUp.close();
});
