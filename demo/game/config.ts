import { readCommonSettings } from "../../kit/game/settings";
import { NAME_FORM } from "../../kit/game/names";
import { readSettings } from "../../runtime/settings";

export type GameConfig = ReturnType<typeof readGameConfig>;

/** Reads the settings from the environment; docs/settings.md describes them. Throws SettingsError. */
export function readGameConfig(environment: NodeJS.ProcessEnv) {
  return readSettings(environment, (settings) => {
    const name = settings.parsed("GAME_NAME", "name of this game in commands", parseGameName, "trivia");
    return {
      name,
      ...readCommonSettings(settings, name ?? "trivia", { consumer: "one", healthListen: "127.0.0.1:8091" }),
      picturesListen: settings.hostPort(
        "PICTURES_LISTEN",
        "address of the listener for pictures, host:port",
        "127.0.0.1:8090",
      ),
      // The base URL of the pictures, with a slash at the end. The default contains the address in `picturesListen`.
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
    };
  });
}

function parseGameName(text: string): string {
  if (!NAME_FORM.test(text)) throw new Error("must be 1 to 32 characters of a-z 0-9 -");
  return text;
}

function parsePicturesUrl(text: string): string {
  if (!/^https?:\/\/[\x21-\x7e]+$/.test(text) || !URL.canParse(text)) {
    throw new Error("must be an http or https URL");
  }
  return text.endsWith("/") ? text : `${text}/`;
}
