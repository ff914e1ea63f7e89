import {
  OPERATOR_EVENT_SECONDS,
  OPERATOR_EVENTS_MAX,
  OPERATOR_EVENTS_WORKSPACE_MAX,
  renderOperatorEvent,
} from "../domain/operator-event";
import { isOver as isRestOver, nextRest, type Rest } from "./growing-rest";
import type { Lease } from "../leases/lease";
import type { Clock, OperatorReceiver, OperatorReceivers, OperatorSent } from "../ports/outside";
import { StoreUnavailable } from "../ports/store-faults";
import type { OperatorOutbox, StoredOperatorEvent } from "../ports/operator-outbox";
import type { Workspaces } from "../ports/workspaces";

export interface OperatorSenderContext {
  readonly now: Clock;
  readonly operatorOutbox: OperatorOutbox;
  readonly workspaces: Workspaces;
  readonly operatorReceivers: OperatorReceivers;
  /** Called after each attempt to deliver an event. */
  onOperatorEventSent(event: StoredOperatorEvent, receiver: OperatorReceiver, sent: OperatorSent): void;
  report(where: string, error: unknown): void;
}

/** The events that wait for one receiver, oldest first. */
interface Queue {
  readonly events: Waiting[];
  isSending: boolean;
  /** The pause in which the receiver gets no event, because the last attempt failed. */
  rest: Rest | undefined;
}

/** An event of the outbox, and the number of receivers that have not got the event yet. */
interface Waiting {
  readonly event: StoredOperatorEvent;
  left: number;
}

export interface OperatorSender {
  /**
   * Begins to send the events that are due, and returns immediately. Must be called again after a while, as long as the
   * outbox has events.
   */
  look(): void;
}

/** The name of a workspace, and the receivers of its events. */
interface Addressees {
  readonly name: string;
  readonly receivers: readonly OperatorReceiver[];
}

/**
 * Delivers the operator events of a shard. Each receiver gets its events in order, one at a time, and an event is
 * repeated with the same id until the receiver accepts it. A receiver that fails is asked again after a growing pause,
 * and delays no other receiver. An event leaves the outbox when all its receivers have accepted it.
 */
export function createOperatorSender(
  context: OperatorSenderContext,
  { shard, stopping, isOver }: Lease,
): OperatorSender {
  const { operatorOutbox, operatorReceivers } = context;
  const isStopped = (): boolean => stopping.aborted || isOver();
  let queues = new Map<string, Queue>();
  let read: string | undefined;
  let waiting = 0;
  let isLooking = false;

  /** Forgets all events that are in memory. The next `look` reads the outbox from its beginning. */
  function startOver(): void {
    queues = new Map();
    read = undefined;
    waiting = 0;
  }

  async function readNew(): Promise<void> {
    for (;;) {
      const events = await operatorOutbox.read(shard, read);
      for (const event of events) {
        await enqueue(event);
        read = event.entryId;
      }
      // The outbox has dropped events that are still in memory.
      if (waiting > OPERATOR_EVENTS_MAX) startOver();
      if (events.length === 0) return;
    }
  }

  async function enqueue(event: StoredOperatorEvent): Promise<void> {
    const { receivers } = await readAddressees(event.workspaceId);
    if (receivers.length === 0) return operatorOutbox.remove(shard, event);
    const entry = { event, left: receivers.length };
    waiting += 1;
    for (const { key } of receivers) {
      const queue = queues.get(key) ?? { events: [], isSending: false, rest: undefined };
      queue.events.push(entry);
      queues.set(key, queue);
      if (key === event.workspaceId) forgetDropped(queue);
    }
  }

  /** Removes the events that the outbox has dropped because of the workspace's share, except an event that is sent now. */
  function forgetDropped({ events, isSending }: Queue): void {
    if (events.length <= OPERATOR_EVENTS_WORKSPACE_MAX) return;
    const [dropped] = events.splice(isSending ? 1 : 0, 1);
    if (dropped === undefined) return;
    dropped.left -= 1;
    if (dropped.left === 0) waiting -= 1;
  }

  /** Returns no receivers if the workspace was deleted. */
  async function readAddressees(id: string): Promise<Addressees> {
    const { ofInstallation, ofWorkspace } = operatorReceivers;
    try {
      const workspace = (await context.workspaces.read(id))?.workspace;
      if (workspace === undefined) return { name: "", receivers: [] };
      const own = ofWorkspace(workspace);
      return {
        name: workspace.name,
        receivers: own === undefined ? ofInstallation : [...ofInstallation, own],
      };
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error;
      // The record cannot be read, e.g. because the record is damaged.
      context.report("operator event", error);
      return { name: "", receivers: ofInstallation };
    }
  }

  /** Sends events to a receiver until one attempt fails or no event is left. */
  async function drain(key: string, queue: Queue): Promise<void> {
    queue.isSending = true;
    try {
      for (let [entry] = queue.events; entry !== undefined && !isStopped(); [entry] = queue.events) {
        const isDone = await sendTo(key, entry.event);
        if (queues.get(key) !== queue) return;
        if (!isDone) {
          queue.rest = nextRest(queue.rest);
          return;
        }
        queue.rest = undefined;
        queue.events.shift();
        entry.left -= 1;
        if (entry.left === 0) {
          waiting -= 1;
          await operatorOutbox.remove(shard, entry.event);
        }
      }
      if (queue.events.length === 0) queues.delete(key);
    } catch (error) {
      if (queues.get(key) === queue) startOver();
      if (!(error instanceof StoreUnavailable)) context.report("operator event", error);
    } finally {
      queue.isSending = false;
    }
  }

  /** Whether the receiver needs no further attempt for the event. */
  async function sendTo(key: string, event: StoredOperatorEvent): Promise<boolean> {
    if (event.atMs < context.now() - OPERATOR_EVENT_SECONDS * 1_000) return true;
    const { name, receivers } = await readAddressees(event.workspaceId);
    // The address may have changed since the event was read.
    const receiver = receivers.find((each) => each.key === key);
    if (receiver === undefined) return true;
    const send = async (): Promise<boolean> => {
      if (isStopped()) return false;
      const sent = await receiver.send(renderOperatorEvent(event, { name }));
      context.onOperatorEventSent(event, receiver, sent);
      return sent.became !== "failed";
    };
    return receiver.inTurn(send);
  }

  async function lookOnce(): Promise<void> {
    try {
      await readNew();
    } catch (error) {
      startOver();
      if (!(error instanceof StoreUnavailable)) context.report("operator event", error);
    }
    for (const [key, queue] of queues) {
      if (!queue.isSending && isRestOver(queue.rest)) void drain(key, queue);
    }
  }

  return {
    look() {
      if (isLooking || isStopped()) return;
      isLooking = true;
      void lookOnce().finally(() => (isLooking = false));
    },
  };
}
