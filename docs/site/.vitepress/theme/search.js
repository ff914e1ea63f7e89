// The options with which the browser searches the index. Functions cannot be in config.mjs: VitePress would create them
// from text in the browser, and the content security policy forbids this.

/** Words that say nothing about the subject of a question. The search ignores them. */
const STOP_WORDS = new Set(
  (
    "a an and are as at be by can do does for from get how i if in into is it its me my of on or our so than that the " +
    "their them then there they this to us was we what when where which who why will with without you your"
  ).split(" "),
);

/**
 * Factors for the results on pages that few readers look for. All other pages have the factor 1. The first pattern that
 * matches the address of a page applies.
 */
const FACTORS = [
  [/^\/(?:CHANGELOG|CODE_OF_CONDUCT)|^\/(?:docs\/decisions|test|bench)\//, 0.3],
  [/^\/CONTRIBUTING|^\/docs\/(?:answers\/code|style|leases)\b/, 0.4],
  // An answer is one line that leads to a section of a guide.
  [/^\/docs\/answers\//, 0.5],
  [/^\/(?:demo|kit\/(?:game\/)?template)\//, 0.6],
];

export const searchOptions = {
  boost: { title: 6, text: 2, titles: 1 },
  prefix: (word) => word.length > 2,
  fuzzy: (word) => (word.length > 6 ? 0.15 : false),
  processTerm: (word) => {
    const lower = word.toLowerCase();
    return STOP_WORDS.has(lower) ? null : lower;
  },
  boostDocument: (address) => FACTORS.find(([pattern]) => pattern.test(address))?.[1] ?? 1,
};
