/**
 * What escapes a virtual clock, and how it is caught. WebCrypto (HPKE uses it) works on real
 * threads, and its promises resolve in an order that no seed decides. So while a simulation runs its
 * answers are held back until everything else has come to rest, and are then given all at once, in
 * the order of the questions. Between two of its steps the simulated world is at rest.
 */

/** A question to WebCrypto and, once the real thread is done, what gives its answer to whoever waits. */
interface Asked {
  give: (() => void) | undefined
}

/** What HPKE calls. */
const HELD_BACK = [
  'decrypt',
  'deriveBits',
  'deriveKey',
  'digest',
  'encrypt',
  'exportKey',
  'generateKey',
  'importKey',
  'sign',
  'unwrapKey',
  'verify',
  'wrapKey',
] as const satisfies readonly (keyof SubtleCrypto)[]
type SubtleCrypto = typeof globalThis.crypto.subtle

const asked: Asked[] = []
let answered = (): void => undefined
let isHoldingBack = false

/** Two beacons and what they cause. */
export const HEALING_MS = 25 * 60_000

/** From now on WebCrypto answers this process only within {@link rest}. Calling it again does nothing. */
export function holdBackWebCrypto(): void {
  if (isHoldingBack) return
  isHoldingBack = true
  const subtle = globalThis.crypto.subtle
  for (const name of HELD_BACK) {
    const real = subtle[name].bind(subtle) as (...given: unknown[]) => Promise<unknown>
    const heldBack = (...given: unknown[]): Promise<unknown> => {
      const question: Asked = { give: undefined }
      asked.push(question)
      return new Promise((resolve, reject) => {
        const ready = (give: () => void): void => {
          question.give = give
          answered()
        }
        real(...given).then(
          (value) => ready(() => resolve(value)),
          (error: unknown) => ready(() => reject(error instanceof Error ? error : new Error(String(error)))),
        )
      })
    }
    Object.defineProperty(subtle, name, { value: heldBack })
  }
}

/** Returns once nothing moves any more: no promise is left that could go on before the clock does. */
export async function rest(): Promise<void> {
  for (;;) {
    await microtasksDone()
    if (asked.length === 0) return
    while (asked.some(({ give }) => give === undefined)) await new Promise<void>((resolve) => (answered = resolve))
    for (const { give } of asked.splice(0)) give?.()
  }
}

/** An immediate comes after all microtasks, and after those that they cause. */
function microtasksDone(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
