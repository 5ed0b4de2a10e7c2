/** A refusal shown by a pair that differs in one respect: the wrong one is refused by that name, the right one passes. */
import type { Checked, Missing, Refusal } from '../../../protocol/index.ts'

type Answer = Checked<unknown> | Missing | undefined

export interface RefusalCase {
  readonly refusal: Refusal
  /** What is wrong, to be read after the refusal's name. */
  readonly what: string
  readonly wrong: () => Answer | Promise<Answer>
  readonly right: () => Answer | Promise<Answer>
}

/** A case whose two halves are one function of `true` (wrong) or `false` (right). */
export function refusalCase(
  refusal: Refusal,
  what: string,
  judge: (wrong: boolean) => Answer | Promise<Answer>,
): RefusalCase {
  return { refusal, what, wrong: () => judge(true), right: () => judge(false) }
}
