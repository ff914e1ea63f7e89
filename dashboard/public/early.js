// Runs before the page's script is loaded. Sends the requests that this script sends first: for the session, then for
// the data of the page. `early-answers.ts` takes the answers. Shows a text if the script cannot be loaded.
(() => {
  const LIST_PLACE = "workspaces-by-state-place";

  addEventListener("error", showFault, { capture: true });
  // A link with a code signs in first.
  if (!/^#(?:sign-in|visit)=/.test(location.hash)) globalThis.earlyAnswers = ask();

  function ask() {
    const session = read("/api/session");
    const data = dataPath();
    const answers = new Map([["/api/session", session]]);
    // Without a session, the request for the data would be rejected.
    if (data !== undefined)
      answers.set(
        data,
        session.then((answer) => (answer?.status === 200 ? read(data) : undefined)),
      );
    return answers;
  }

  function read(path) {
    return fetch(path, { headers: { "x-dashboard": "1" } }).catch(() => undefined);
  }

  /** Returns the path of the request that shows the page's content first, if it is known. */
  function dataPath() {
    const [, shown] =
      /^(\/workspaces\/[0-9a-f-]{36}(?:\/events\/[\w-]+)?)(?:\/settings)?$/.exec(location.pathname) ?? [];
    if (shown !== undefined) return `/api${shown}`;
    return location.pathname === "/" ? listPath() : undefined;
  }

  /** Returns the path of the page of the list that `use-workspace-pages.ts` shows. */
  function listPath() {
    const shown = new URLSearchParams(location.search);
    if (shown.get("search")) return undefined;
    const state = shown.get("state") ?? "";
    let place = {};
    try {
      place = JSON.parse(sessionStorage.getItem(LIST_PLACE) ?? "{}");
    } catch {
      // Storage is blocked, so the list begins with its first page.
    }
    const { size = 25, after = "" } = place;
    const query = { after: (place.state ?? "") === state ? after : "", search: "", size: String(size) };
    return `/api/workspaces?${new URLSearchParams({ ...query, ...(state === "" ? {} : { state }) })}`;
  }

  /** The script is missing if the page is of a release that the server no longer has, or does not have yet. */
  function showFault({ target }) {
    if (!(target instanceof HTMLScriptElement) || target.type !== "module") return;
    const show = () => document.getElementById("not-loaded")?.removeAttribute("hidden");
    if (document.readyState === "loading") addEventListener("DOMContentLoaded", show);
    else show();
  }
})();
