import { useState } from "preact/hooks";
import { LANGUAGES, type Language } from "../words/languages";

const KEY = "language";

/** The programming language in which the pages show code. The browser's local storage keeps the user's choice. */
export function useLanguage(): readonly [Language, (language: Language) => void] {
  const [language, setLanguage] = useState(readLanguage);
  return [
    language,
    (chosen) => {
      setLanguage(chosen);
      try {
        localStorage.setItem(KEY, chosen);
      } catch {
        // Storage is blocked, so the choice lasts until the page is closed.
      }
    },
  ];
}

function readLanguage(): Language {
  try {
    const stored = localStorage.getItem(KEY);
    return LANGUAGES.find(({ name }) => name === stored)?.name ?? "curl";
  } catch {
    return "curl";
  }
}
