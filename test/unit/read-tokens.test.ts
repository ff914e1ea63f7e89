import * as fc from "fast-check";
import { parseTokensFile } from "../../core/read-tokens";

const token = fc.stringMatching(/^[a-zA-Z0-9]{16,40}$/);
const entries = fc.uniqueArray(
  fc.record({
    role: fc.constantFrom("edge", "game", "operator"),
    name: fc.stringMatching(/^[a-z]{1,8}$/),
    token,
  }),
  { minLength: 1, maxLength: 8, selector: ({ name }) => name },
);
/** Text that can separate two entries of a file. */
const between = fc.constantFrom(
  ",",
  "\n",
  "\r\n",
  " , \n",
  "\n\n",
  "\n# a comment, with = and a comma\n",
  "\n  #\n",
  ",,",
);

test("a file gives the same tokens, whether commas, line breaks or comments separate them", () => {
  fc.assert(
    fc.property(entries, fc.array(between, { minLength: 9, maxLength: 9 }), (all, gaps) => {
      const pairs = all.map((each) => `${each.role}:${each.name}=${each.token}`);
      const text = `# tokens\n${pairs.map((pair, at) => `${pair}${gaps[at]}`).join("")}`;
      expect(parseTokensFile(text)).toEqual(all.map((each) => ({ ...each, workspaces: undefined })));
    }),
  );
});

test("the error about a faulty line contains the number of the line, but no part of the token", () => {
  fc.assert(
    fc.property(entries, fc.nat(), token, (all, seed, secret) => {
      const lines = all.map((each) => `${each.role}:${each.name}=${each.token}`);
      const at = seed % (lines.length + 1);
      lines.splice(at, 0, `king:${secret}`);
      let message = "";
      try {
        parseTokensFile(lines.join("\n"));
      } catch (error) {
        message = (error as Error).message;
      }
      expect(message).toMatch(new RegExp(`\\(line ${at + 1}\\)$`));
      for (const each of [secret, ...all.map((one) => one.token)]) expect(message).not.toContain(each);
    }),
  );
});
