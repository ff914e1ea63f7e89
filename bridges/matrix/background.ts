import { untilAnswered } from "./client/retrying";
import { createTurns } from "./turns";

/** A request in the background. Posts and edits do not wait for background requests. */
type Task = (signal: AbortSignal) => Promise<void>;

const TASKS_MAX = 1_000;
/**
 * Maximum number of waiting tasks of a room, so that the reactions in one room leave space for the tasks of other
 * rooms.
 */
const ROOM_TASKS_MAX = 200;

export type Background = ReturnType<typeof createBackground>;

/**
 * Runs tasks one at a time, so that the homeserver's rate limit leaves room for posts and edits. The rooms take turns,
 * so that many reactions in one room do not delay the keycaps in another.
 *
 * @param onFailure called with the error of a task that was dropped
 */
export function createBackground(signal: AbortSignal, onFailure: (error: unknown) => void) {
  /** The waiting tasks of each room, by key. The first room is the one whose turn is next. */
  const rooms = new Map<string, Map<string, Task>>();
  let size = 0;
  let running: Promise<void> | undefined;
  const turns = createTurns(signal);

  /** Removes and returns the next task of the room whose turn it is, and moves the room to the end. */
  function next(): Task | undefined {
    for (const [roomId, tasks] of rooms) {
      rooms.delete(roomId);
      for (const [key, task] of tasks) {
        tasks.delete(key);
        size -= 1;
        if (tasks.size > 0) rooms.set(roomId, tasks);
        return task;
      }
    }
    return undefined;
  }

  async function run(): Promise<void> {
    for (let task = next(); task !== undefined; task = next()) {
      const call = task;
      const inTurn = async (): Promise<void> => {
        await turns.turn();
        await call(signal);
      };
      await untilAnswered(inTurn, { signal }).catch((error: unknown) => {
        if (!signal.aborted) onFailure(error);
      });
    }
    running = undefined;
  }

  return {
    /**
     * Adds a task of a room, which replaces a waiting task of the room with the same key. A task that fails temporarily
     * is repeated. If `ROOM_TASKS_MAX` other tasks of the room, or `TASKS_MAX` tasks of all rooms, are already waiting,
     * the new task is dropped.
     */
    add(roomId: string, key: string, task: Task): void {
      if (signal.aborted) return;
      const tasks = rooms.get(roomId) ?? new Map<string, Task>();
      const isNew = !tasks.has(key);
      if (isNew && (size >= TASKS_MAX || tasks.size >= ROOM_TASKS_MAX)) {
        const most = size >= TASKS_MAX ? `${TASKS_MAX} requests` : `${ROOM_TASKS_MAX} requests of a room`;
        onFailure(new Error(`more than ${most} are waiting for the homeserver`));
        return;
      }
      if (isNew) size += 1;
      tasks.set(key, task);
      rooms.set(roomId, tasks);
      running ??= Promise.resolve().then(run);
    },
    /** The turns of posts and tasks. A task with several requests waits for its turn before each request. */
    ...turns,
    /** Resolves when no task is waiting or running. */
    idle: async () => running,
  };
}
