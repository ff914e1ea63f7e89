import { createStore } from "./store";

/** The path of the script that this page runs. The name contains a hash, so each release has a different path. */
const OWN = document.querySelector<HTMLScriptElement>('script[type="module"]')?.src;

/** Whether the server has a newer release of the pages than this page. */
export const isOutdated = createStore(false);

/** Compares the server's release with the page's release. `script` is the path of the script in the server's pages. */
export function noteRelease(script: string | null): void {
  if (script !== null && OWN !== undefined && script !== new URL(OWN).pathname) isOutdated.set(true);
}

// Vite sends this event when a part of the script cannot be loaded, e.g. because the release of this page is gone.
addEventListener("vite:preloadError", () => isOutdated.set(true));
