import type { Message } from "../../../proto/gen/chatbridge/v1/event";

// Every group gets the presses of all games. So each button's `action` begins with the name of the game that made it.

/** Returns the message with the name of the game added at the start of each button's `action`. */
export function withOwnActions(message: Message, game: string): Message {
  const rows = message.rows.map(({ buttons }) => ({
    buttons: buttons.map((button) => {
      if (button.press?.$case !== "action") return button;
      return { ...button, press: { $case: "action" as const, value: `${game}:${button.press.value}` } };
    }),
  }));
  return { ...message, rows };
}

/** Returns an `action` without the name of the game. Returns undefined for a button of another game. */
export function ownAction(action: string, game: string): string | undefined {
  return action.startsWith(`${game}:`) ? action.slice(game.length + 1) : undefined;
}
