/** The languages of the programs that the pages show, in the order of the tabs. */
export const LANGUAGES = [
  { name: "curl", label: "curl" },
  { name: "typescript", label: "TypeScript" },
  { name: "python", label: "Python" },
  { name: "go", label: "Go" },
] as const;
export type Language = (typeof LANGUAGES)[number]["name"];
