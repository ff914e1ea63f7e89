import { useEffect, useState } from "preact/hooks";

/** Matches the fragment of a link from an event's page in the dashboard to the event's exchange. */
const LINK_FORM = /^#wire=(evt_[0-9A-Z]+)$/;

/** The event that a link names. Following a link creates a new object, so that following it again has an effect. */
export interface WantedEvent {
  readonly id: string;
}

/**
 * Returns the event that the last followed link names; undefined if no link was followed. `onLink` is called after each
 * link.
 */
export function useWantedEvent(onLink: () => void): WantedEvent | undefined {
  const [wanted, setWanted] = useState<WantedEvent | undefined>(undefined);
  useEffect(() => {
    function read(): void {
      const [, id] = LINK_FORM.exec(location.hash) ?? [];
      if (id === undefined) return;
      // The fragment is removed, so that following the same link again causes `hashchange`.
      history.replaceState(null, "", location.pathname);
      setWanted({ id });
      onLink();
    }
    read();
    addEventListener("hashchange", read);
    return () => removeEventListener("hashchange", read);
  }, []);
  return wanted;
}
