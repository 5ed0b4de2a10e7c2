/** The owner's hand in a story of removals. */
import { ApiError } from '../../src/node/api-error.ts'
import { missing } from './checkers/converged.ts'
import { HEALING_MS } from './quiet.ts'
import type { Random } from './random.ts'
import { HONEST, LIAR, memberOf, SECOND_LAPTOP, type World } from './world.ts'

const REMOVED_COUNT_MAX = 2
const NAMES = [...HONEST, SECOND_LAPTOP, LIAR]

/** bob removes a member or a laptop now and then, and asks again where his node died before it answered. */
export function createOwner({ scene, laptops, clock }: World, dice: Random) {
  const targets = dice.shuffled(['mallory', 'frank/frank2-laptop', 'frank/frank-laptop', 'frank', 'carol', 'alice'])
  const asked: { target: string; answered: boolean }[] = []

  function ask(one: { target: string; answered: boolean }): void {
    const node = laptops[0]?.node
    if (!node) return
    node.remove({ name: one.target }).then(
      () => (one.answered = true),
      (error: unknown) => {
        // Removed before its answer came, or with the member.
        one.answered = true
        if (!(error instanceof ApiError) || error.symbol !== 'recipient_not_found')
          scene.violated('answers', `bob cannot remove ${one.target}: ${String(error)}`)
      },
    )
  }

  return {
    /** Gives the laptops that are removed. */
    mayRemove(steps: number): string[] {
      if (asked.length >= REMOVED_COUNT_MAX || !dice.chance(3 / steps)) return []
      const target = targets.pop()
      if (target === undefined || laptops[0]?.state !== 'up') return []
      scene.note(`bob removes ${target}`)
      asked.push({ target, answered: false })
      ask(asked.at(-1) ?? { target, answered: true })
      return NAMES.filter((name) => target === name || target.endsWith(`/${name}-laptop`) || target === memberOf(name))
    },
    /** What was asked is done, and everybody has had time to act by it. */
    async isDone() {
      for (const one of asked) if (!one.answered) ask(one)
      await clock.pass(60_000)
      for (let passed = 0; passed < HEALING_MS && missing(scene).length > 0 && !scene.violation; passed += 60_000)
        await clock.pass(60_000)
      await clock.pass(30_000)
    },
  }
}
