import {
  createGame,
  type Button,
  type Game as KitGame,
  type MemberTurn,
  type MessageContent,
  type PressTurn,
  type TimerToken,
  type Turn,
} from "../../kit/game/index";
import { isInChannel, isInGame, isPressedOption, type InChannel } from "./payloads";
import { answerNumber } from "./rules/answer-number";
import { advance, answer, begin, end, join, newGame, nextTickOf, noteRepost } from "./rules/game";
import { standings, type Game, type Rules, type State } from "./rules/game-state";
import {
  COMMANDS,
  notice,
  showGameIsOver,
  showHelp,
  showMoved,
  showNoGame,
  showRematchAnswer,
  showRematchOffer,
  showTopic,
  showTopicThanks,
  showUnknownCommand,
  TOPIC_PROMPT,
} from "./view/cards";
import { showGame, type GameButtons, type InGame, type PressedOption } from "./view/game-message";
import { showNow } from "./view/progress";
import { whereIn } from "./view/view-model";

/** Maximum number of live games in a workspace. */
const GAMES_MAX = 100;
/** Maximum number of tied winners who are offered a rematch. */
const OFFERS_MAX = 3;
const TOPIC_MAX = 300;
/** Minimum milliseconds between two posts of a game's message in its channel. */
const REPOST_GAP_MS = 30_000;

/** Returns the trivia game. */
export function createTrivia(rules: Rules): KitGame<State> {
  return new Trivia(rules).game;
}

/** The handlers of the trivia game: they apply the rules, and show the results. */
class Trivia {
  readonly game: KitGame<State>;
  readonly #rules: Rules;
  readonly #buttons: GameButtons;
  readonly #rematch: (label: string, payload: InChannel) => Button;
  readonly #noRematch: (label: string) => Button;
  readonly #tick: (channel: string) => TimerToken;

  constructor(rules: Rules) {
    const game = createGame<State>({ name: rules.name, state: () => ({ games: [] }) });
    this.game = game;
    this.#rules = rules;
    this.#buttons = {
      join: game.action<InGame>(
        "join",
        (turn, payload) => this.#press(turn, payload, (live) => join(live, turn.user, turn.now)),
        { check: isInGame },
      ),
      begin: game.action<InGame>(
        "begin",
        (turn, payload) => this.#press(turn, payload, (live) => begin(live, turn.user, turn.now)),
        { check: isInGame },
      ),
      answer: game.action<PressedOption>(
        "answer",
        (turn, payload) => this.#press(turn, payload, (live) => pressOption(live, turn, payload)),
        { check: isPressedOption },
      ),
    };
    this.#rematch = game.action<InChannel>(
      "rematch",
      (turn, { channel }) => turn.update(showRematchAnswer(this.#open(turn, channel) ?? "opened")),
      { check: isInChannel },
    );
    game.otherAction((turn) => this.#sayGameIsOver(turn));
    this.#noRematch = game.action("no-rematch", (turn) => turn.update(showRematchAnswer("declined")));
    this.#tick = game.timer<string>("tick", (turn, channel) => {
      const live = gameIn(turn, channel);
      if (live !== undefined) this.#refresh(turn, live);
    });
    this.#addCommands();
    game.message((turn, text) => {
      const live = gameIn(turn);
      const isReply = turn.replyTo !== undefined;
      if (live === undefined || (isReply && ![live.message, live.formerMessage].includes(turn.replyTo)))
        return;
      this.#play(turn, live, () => answerNumber(live, turn.user, text, isReply, turn.now));
    });
    game.onStop((turn) => {
      for (const live of turn.state.games) this.#end(turn, live, "closing");
    });
  }

  #addCommands(): void {
    const { game } = this;
    for (const verb of ["", "help"]) {
      game.command(verb, "explain the game", (turn) => turn.reply(showHelp(turn, this.#rules.otherGames)));
    }
    game.command("start", COMMANDS.start, (turn) => {
      const why = this.#open(turn, turn.channel);
      const live = gameIn(turn);
      if (why === "game-is-on" && live !== undefined) this.#showAgain(turn, live);
      else if (why !== undefined) turn.ephemeral(notice(why));
    });
    game.command("stop", COMMANDS.stop, (turn) => {
      const live = gameIn(turn);
      if (live === undefined) turn.ephemeral(showNoGame(turn));
      else if (live.host.id !== turn.user.id) turn.ephemeral(notice("only-host"));
      else this.#end(turn, live, "stopped");
    });
    const topic = game.answer<InChannel>("topic", (turn, text, { channel }) => {
      const suggested = [...text.trim()].slice(0, TOPIC_MAX).join("");
      turn.update(showTopicThanks(suggested));
      turn.post(channel, showTopic(turn.user.name, suggested));
    });
    game.command("suggest", COMMANDS.suggest, (turn) =>
      turn.ask(TOPIC_PROMPT, topic({ channel: turn.channel }), { to: turn.user.id, within: "15 m" }),
    );
    game.otherCommand((turn, [verb = ""]) => turn.ephemeral(showUnknownCommand(verb, turn)));
  }

  /** Opens a game in a channel, or returns the reason why no game can be opened there. */
  #open(turn: MemberTurn<State>, channel: string): "game-is-on" | "too-many-games" | undefined {
    const { games } = turn.state;
    if (gameIn(turn, channel) !== undefined) return "game-is-on";
    if (games.length >= GAMES_MAX) return "too-many-games";
    const game = newGame(this.#rules, turn.id, channel, turn.user, turn.now);
    turn.state.games = [...games, game];
    this.#refresh(turn, game);
    return undefined;
  }

  #press(turn: PressTurn<State>, payload: InGame, change: (game: Game) => MessageContent | undefined): void {
    const game = gameIn(turn);
    if (game !== undefined && game.id === payload.game) this.#play(turn, game, () => change(game));
    else this.#sayGameIsOver(turn);
  }

  #sayGameIsOver(turn: PressTurn<State>): void {
    turn.ephemeral(showGameIsOver(turn), turn.user.id, { about: turn.message });
  }

  /**
   * Answers `start` while a game runs. The chat may not show the game's message, e.g. because the bridge could not post
   * it, or because other messages followed. So Trivia posts the message again, unless the message is new.
   */
  #showAgain(turn: MemberTurn<State>, game: Game): void {
    turn.ephemeral(notice("game-is-on", showNow(game, turn.user.id, turn.now)));
    if (turn.now < game.postedAtMs + REPOST_GAP_MS || game.message === undefined) return;
    turn.update(showMoved(), game.message);
    game.formerMessage = game.message;
    noteRepost(game, turn.now);
    this.#refresh(turn, game);
  }

  /**
   * Changes a game, and shows the returned notice to the member. The notice contains the phase, so a chat can remove
   * the notice when the phase ends.
   */
  #play(turn: MemberTurn<State>, game: Game, change: () => MessageContent | undefined): void {
    const where = whereIn(game);
    const content = change();
    if (content !== undefined) {
      const data = { ...where, ...content.data };
      turn.ephemeral({ ...content, data }, turn.user.id, { about: game.message });
    }
    this.#refresh(turn, game);
  }

  #end(turn: Turn<State>, game: Game, why: "stopped" | "closing"): void {
    end(game, why);
    this.#refresh(turn, game);
  }

  /** Shows the changes of a game, and sets the timer for its next change. */
  #refresh(turn: Turn<State>, game: Game): void {
    advance(game, this.#rules, turn.now);
    if (game.showAtMs !== undefined && turn.now >= game.showAtMs) this.#show(turn, game);
    if (game.timer !== undefined) turn.cancel(game.timer);
    const nextAtMs = nextTickOf(game);
    if (nextAtMs !== undefined) game.timer = turn.at(nextAtMs, this.#tick(game.channel));
    else this.#remove(turn, game);
  }

  #show(turn: Turn<State>, game: Game): void {
    game.shownAtMs = turn.now;
    game.showAtMs = undefined;
    const content = showGame(game, this.#buttons);
    if (game.message !== undefined) return turn.update(content, game.message);
    // A message that is posted again has the kind `question` again, even if the question already has answers.
    const isQuestion = game.phase.name === "question";
    game.message = turn.post(game.channel, isQuestion ? { ...content, kind: "question" } : content);
    game.postedAtMs = turn.now;
  }

  #remove(turn: Turn<State>, game: Game): void {
    turn.state.games = turn.state.games.filter((each) => each !== game);
    if (game.phase.name !== "over" || game.phase.why !== "played") return;
    const { channel } = game;
    const buttons = [this.#rematch("Rematch", { channel }), this.#noRematch("Not now")];
    const players = standings(game);
    const winners = players.filter(({ points }) => points > 0 && points === players[0]?.points);
    for (const { id, points } of winners.slice(0, OFFERS_MAX)) {
      turn.dm(id, showRematchOffer(points, buttons));
    }
  }
}

/** Returns the live game in a channel. */
function gameIn({ state, channel: here }: Turn<State>, channel = here): Game | undefined {
  return state.games.find((game) => game.channel === channel);
}

function pressOption(
  game: Game,
  { user, now }: MemberTurn<State>,
  { question, option }: PressedOption,
): MessageContent | undefined {
  return game.questions[question]?.kind === "choice" ? answer(game, user, question, option, now) : undefined;
}
