/** Resolves host names with DNS. */
export interface NameLookup {
  /** Returns all addresses of a name, as text. Throws when the name has none or DNS does not answer. */
  addresses(name: string): Promise<readonly string[]>;
}
