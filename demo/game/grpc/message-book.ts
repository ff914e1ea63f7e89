import { LRUCache } from "lru-cache";

/** Maps the refs that the rules give to messages to the ids that the service gives, and back. */
export interface MessageBook {
  enter(workspaceId: string, ref: string, messageId: string): void;
  /** The id of a message; undefined when it was not published, or so long ago that it is forgotten. */
  idOf(workspaceId: string, ref: string): string | undefined;
  /** The ref of a message; undefined when this process has not published it, or has forgotten it. */
  refOf(workspaceId: string, messageId: string): string | undefined;
}

const MESSAGES_MAX = 20_000;

export function createMessageBook(): MessageBook {
  const ids = new LRUCache<string, string>({ max: MESSAGES_MAX });
  const refs = new LRUCache<string, string>({ max: MESSAGES_MAX });
  const key = (workspaceId: string, name: string): string => `${workspaceId} ${name}`;
  return {
    enter(workspaceId, ref, messageId) {
      ids.set(key(workspaceId, ref), messageId);
      refs.set(key(workspaceId, messageId), ref);
    },
    idOf: (workspaceId, ref) => ids.get(key(workspaceId, ref)),
    refOf: (workspaceId, messageId) => refs.get(key(workspaceId, messageId)),
  };
}
