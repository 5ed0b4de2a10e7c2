/** The type of what came from a peer: it cannot be used as text without naming the one function that wraps or shows it. */
declare const fromPeer: unique symbol
/** Data from another person's node. On the wire it is plain JSON. */
export interface Untrusted<T> {
  readonly [fromPeer]: T
}
/** Content by this node's own member, or a peer's. Exactly one of the two keys is there. */
export type Content<T> = { own: T; untrusted?: never } | { own?: never; untrusted: Untrusted<T> }

/** For whoever builds a result. */
export function untrusted<T>(value: T): Untrusted<T> {
  return value as unknown as Untrusted<T>
}
