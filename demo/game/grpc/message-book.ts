import { LRUCache } from "lru-cache";

/** Knows which message id the service gave to a message that the rules named. */
export interface MessageBook {
  enter(workspaceId: string, ref: string, messageId: string): void;
  /** The id of a message; undefined when it was never published. */
  idOf(workspaceId: string, ref: string): string | undefined;
  /** The name of a message; undefined when it is none of ours. */
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
