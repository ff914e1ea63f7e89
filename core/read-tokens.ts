import { parseCoreToken } from "../runtime/core-connection";
import type { FileSource } from "../runtime/read-file";
import { parseList, type Settings } from "../runtime/settings";
import { checkTokens, parseTokenLabel, type KnownToken } from "./rpc/known-tokens";

const TOKEN_MIN_CHARACTERS = 16;
/**
 * Maximum size in bytes of the file of tokens, and maximum number of tokens in the file. Core compares each call's
 * token with all of them.
 */
const FILE_MAX_BYTES = 262_144;
const FILE_MAX_TOKENS = 1_000;

type Tokens = readonly KnownToken[];

/**
 * Reads the tokens that core accepts, from `CORE_TOKENS` and `CORE_TOKENS_FILE`. `tokensFile` reads the file again
 * after it has changed, and returns the tokens of both settings.
 */
export function readTokens(settings: Settings): {
  readonly tokens: Tokens;
  readonly tokensFile: FileSource<Tokens> | undefined;
} {
  const tokens = settings.parsed(
    "CORE_TOKENS",
    "comma-separated role=token, role:name=token or role:name@id+id=token; roles: edge, game, operator",
    parseTokens,
    " ",
  );
  const file = settings.namedFile(
    "CORE_TOKENS_FILE",
    "further tokens, in the form of CORE_TOKENS, separated by commas or line breaks; core reads the file again when it changes",
    { maxBytes: FILE_MAX_BYTES, isSecret: true },
  );
  if (file === undefined || tokens === undefined) return { tokens, tokensFile: undefined };
  const parse = ([bytes]: readonly Buffer[]): Tokens => {
    const all = [...tokens, ...parseTokensFile(bytes?.toString() ?? "")];
    checkTokens(all);
    return all;
  };
  try {
    return { tokens: parse([file.bytes]), tokensFile: { files: [file], parse } };
  } catch (error) {
    settings.fault(`CORE_TOKENS_FILE ${error instanceof Error ? error.message : "is not valid"}`);
    return { tokens, tokensFile: undefined };
  }
}

function parseTokens(text: string): Tokens {
  const tokens = parseList(text).map(parseToken);
  checkTokens(tokens);
  return tokens;
}

/**
 * Parses the text of a file of tokens. Lines that begin with `#` are comments. Throws if the file is invalid or
 * contains no token. The error gives the number of the invalid line, but never its text.
 */
export function parseTokensFile(text: string): Tokens {
  const tokens = text.split(/\r\n|\n|\r/).flatMap((line, at) => {
    if (line.trimStart().startsWith("#")) return [];
    try {
      return parseList(line).map(parseToken);
    } catch (error) {
      const fault = error instanceof Error ? error.message : "is not valid";
      throw new Error(`${fault} (line ${at + 1})`, { cause: error });
    }
  });
  if (tokens.length === 0) throw new Error("names a file without a token");
  if (tokens.length > FILE_MAX_TOKENS) throw new Error(`names a file of more than ${FILE_MAX_TOKENS} tokens`);
  return tokens;
}

function parseToken(pair: string): KnownToken {
  const at = pair.indexOf("=");
  if (at < 0) throw new Error("has a pair that is not role=token");
  const label = parseTokenLabel(pair.slice(0, at));
  const token = pair.slice(at + 1);
  if (token.length < TOKEN_MIN_CHARACTERS) {
    throw new Error(
      `has a token of fewer than ${TOKEN_MIN_CHARACTERS} characters for the role ${label.role}`,
    );
  }
  return { ...label, token: parseCoreToken(token) };
}
