/** A refusal shown by a pair that differs in one respect: the wrong one is refused by that name, the right one passes. */
import type { Refusal } from '../../../protocol/index.ts'
import { type Answer, CHECKS } from '../vector-checks.ts'
import type { Exhibit } from '../vector-form.ts'

export interface RefusalCase {
  readonly refusal: Refusal
  /** What is wrong, to be read after the refusal's name. */
  readonly what: string
  readonly exhibit: (wrong: boolean) => Exhibit | Promise<Exhibit>
  readonly wrong: () => Answer
  readonly right: () => Answer
}

/** A case whose two halves are one function of `true` (wrong) or `false` (right). */
export function refusalCase(
  refusal: Refusal,
  what: string,
  exhibit: (wrong: boolean) => Exhibit | Promise<Exhibit>,
): RefusalCase {
  const answer = async (wrong: boolean) => {
    const { check, input, context } = await exhibit(wrong)
    const judge = CHECKS[check]?.[1]
    if (!judge) throw new Error(`no check is named ${check}`)
    return judge(input, context)
  }
  return { refusal, what, exhibit, wrong: () => answer(true), right: () => answer(false) }
}
