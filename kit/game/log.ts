/** The part of a logger that the kit uses. A pino logger fits. */
export interface GameLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}
