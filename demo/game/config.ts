import { readCoreConnection } from "../../runtime/core-connection";
import { LOG_LEVELS } from "../../runtime/logger";
import { readSettings, type Settings } from "../../runtime/settings";
import { NAME_FORM, type GameNames } from "./rules/game-names";

export type GameConfig = ReturnType<typeof readGameConfig>;

/** Reads the settings from the environment; docs/settings.md describes them. Throws SettingsError. */
export function readGameConfig(environment: NodeJS.ProcessEnv) {
  return readSettings(environment, (settings) => ({
    core: readCoreConnection(settings, "game"),
    names: readGameNames(settings),
    // The default is the name of the game, so that two games do not share a group by mistake.
    group: settings.isSet("FOLLOW_GROUP")
      ? settings.parsed("FOLLOW_GROUP", "name of the group that follows events", parseName)
      : undefined,
    consumer: settings.parsed("FOLLOW_CONSUMER", "name of this process in the group", parseName, "one"),
    healthListen: settings.hostPort(
      "HEALTH_LISTEN",
      "address of the listener for probes, host:port",
      "127.0.0.1:8091",
    ),
    picturesListen: settings.hostPort(
      "PICTURES_LISTEN",
      "address of the listener for pictures, host:port",
      "127.0.0.1:8090",
    ),
    // The base URL of the pictures, with a slash at the end; by default, made from the address in `picturesListen`.
    picturesUrl: settings.isSet("PICTURES_URL")
      ? settings.parsed("PICTURES_URL", "URL at which the chat loads the pictures", parsePicturesUrl)
      : undefined,
    lobbySeconds: settings.integer(
      "LOBBY_SECONDS",
      "seconds that a lobby stays open",
      { min: 1, max: 600 },
      60,
    ),
    revealSeconds: settings.integer(
      "REVEAL_SECONDS",
      "seconds that an answer is shown",
      { min: 1, max: 60 },
      6,
    ),
    rounds: settings.integer("ROUNDS", "number of questions in a game", { min: 1, max: 15 }, 5),
    secondsPerQuestion: settings.integer(
      "QUESTION_SECONDS",
      "seconds that a question stays open",
      { min: 5, max: 60 },
      20,
    ),
    logLevel: settings.choice("LOG_LEVEL", LOG_LEVELS, "info"),
  }));
}

function readGameNames(settings: Settings): GameNames {
  const own = settings.parsed("GAME_NAME", "name of this game in commands", parseGameName, "trivia");
  const all = settings.isSet("GAMES")
    ? settings.parsed("GAMES", "names of all games, separated by commas", (text) => parseGames(text, own))
    : [own];
  return { own, all };
}

function parseGames(text: string, own: string): readonly string[] {
  const all = text.split(",").map((name) => parseGameName(name.trim()));
  if (!all.includes(own)) throw new Error("must contain the name in GAME_NAME");
  return all;
}

function parseGameName(text: string): string {
  if (!NAME_FORM.test(text)) throw new Error("must be 1 to 32 characters of a-z 0-9 -");
  return text;
}

function parseName(text: string): string {
  if (!/^[A-Za-z0-9._-]{1,64}$/.test(text))
    throw new Error("must be 1 to 64 characters of A-Z a-z 0-9 . _ -");
  return text;
}

function parsePicturesUrl(text: string): string {
  if (!/^https?:\/\/[\x21-\x7e]+$/.test(text) || !URL.canParse(text)) {
    throw new Error("must be an http or https URL");
  }
  return text.endsWith("/") ? text : `${text}/`;
}
