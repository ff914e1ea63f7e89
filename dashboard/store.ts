import { useEffect, useState } from "preact/hooks";

/** A value that several components read and set. */
export interface Store<T> {
  get(): T;
  set(value: T): void;
  /** Calls `look` after every change. Returns a function that unregisters `look`. */
  subscribe(look: () => void): () => void;
}

export function createStore<T>(first: T): Store<T> {
  let value = first;
  const looking = new Set<() => void>();
  return {
    get: () => value,
    set(next) {
      if (Object.is(value, next)) return;
      value = next;
      for (const look of looking) look();
    },
    subscribe(look) {
      looking.add(look);
      return () => looking.delete(look);
    },
  };
}

export function useStore<T>(store: Store<T>): T {
  const [value, setValue] = useState(store.get);
  useEffect(() => {
    const look = (): void => setValue(() => store.get());
    look();
    return store.subscribe(look);
  }, [store]);
  return value;
}
