import { useEffect, useState } from "preact/hooks";

const KEY = "drafts";
/**
 * Maximum total length of all drafts, in characters. If the drafts are longer, they are lost when the page is reloaded.
 */
const KEPT_MAX = 20_000;

/** The drafts of the fields in the page, by the path of the page and the name of the field. */
const shown = new Map<string, string>();
const kept = takeKept();

/** Returns the drafts that the page had before it was reloaded. Removes the drafts from the storage. */
function takeKept(): Map<string, string> {
  try {
    const text = sessionStorage.getItem(KEY) ?? "[]";
    sessionStorage.removeItem(KEY);
    return new Map(JSON.parse(text) as [string, string][]);
  } catch {
    return new Map();
  }
}

addEventListener("pagehide", () => {
  const text = JSON.stringify([...shown]);
  if (shown.size === 0 || text.length > KEPT_MAX) return;
  try {
    sessionStorage.setItem(KEY, text);
  } catch {
    // Storage is blocked or full, so the drafts are lost.
  }
});

/**
 * Like `useState`, for a field whose text survives a reload of the page. Do not use this hook for secrets, because a
 * reload stores the text briefly in session storage.
 *
 * @param name name of the field, unique in the page
 * @param stored text that is not a draft
 */
export function useKept(name: string, stored: string): [text: string, setText: (text: string) => void] {
  const [key] = useState(`${location.pathname} ${name}`);
  const [text, setText] = useState(() => {
    const draft = kept.get(key) ?? stored;
    kept.delete(key);
    return draft;
  });
  useEffect(() => {
    if (text !== stored) shown.set(key, text);
    return () => void shown.delete(key);
  }, [text, stored]);
  return [text, setText];
}

/**
 * Returns the text of a field that shows a stored value, and the function that sets this text. When the stored value
 * changes, the field shows the new value. If the text differs from the new value only by surrounding spaces, the text
 * stays. The text survives a reload of the page.
 *
 * @param name name of the field, unique in the page
 * @remarks The hook sets its state during rendering. An effect would run after the first paint, and remove what a fast
 * user has already typed.
 */
export function useDraft(name: string, stored: string): [text: string, setText: (text: string) => void] {
  const [text, setText] = useKept(name, stored);
  const [last, setLast] = useState(stored);
  if (last !== stored) {
    setLast(stored);
    if (text.trim() !== stored) setText(stored);
  }
  return [text, setText];
}
