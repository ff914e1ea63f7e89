import { useEffect, useState } from "preact/hooks";

/** The end of a link from the dashboard's page of an event to the event's exchange. */
const LINK_FORM = /^#wire=(evt_[0-9A-Z]+)$/;

/** The event of a link. Each link is a new object, so that a repeated link has an effect. */
export interface WantedEvent {
  readonly id: string;
}

/** Returns the event of the last such link; undefined for none. `onLink` is called with each link. */
export function useWantedEvent(onLink: () => void): WantedEvent | undefined {
  const [wanted, setWanted] = useState<WantedEvent | undefined>(undefined);
  useEffect(() => {
    function read(): void {
      const [, id] = LINK_FORM.exec(location.hash) ?? [];
      if (id === undefined) return;
      // Without the fragment, the same link works again.
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
