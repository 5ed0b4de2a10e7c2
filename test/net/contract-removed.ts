/** What every net promises of a device that was removed from the team. */
import { afterEach, describe, expect, test } from 'vitest'
import { type Diary, published, readAll, started, team, until, type World } from './world.ts'

const bytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text))

export function removedContract(name: string, createWorld: () => World): void {
  describe(`${name}: a device that was removed`, () => {
    let world = createWorld()
    afterEach(async () => {
      await world.close()
      world = createWorld()
    })

    /** Two teammates, and one who believes that he is a third; whoever has the lower key opens the streams. */
    async function withFormer(key: 'lowest' | 'highest'): Promise<{ here: Diary; other: Diary; former: Diary }> {
      const books = await Promise.all(['a', 'b', 'c'].map((one) => started(world, one)))
      const [low, middle, high] = books.toSorted((one, next) => (one.net.device < next.net.device ? -1 : 1))
      if (!low || !middle || !high) throw new Error('not started')
      return key === 'lowest' ? { here: middle, other: high, former: low } : { here: middle, other: low, former: high }
    }

    test.each(['lowest', 'highest'] as const)('is hung up on at once, and not dialled: %s key', async (key) => {
      const { here, other, former } = await withFormer(key)
      team(here, other, former)
      await until(() => here.syncsRunning === 2 && former.syncsRunning === 2)
      former.net.setTeam(new Map())
      await until(() => here.syncsRunning === 1)
      here.net.setTeam(new Map([[other.net.device, other.net.addresses()]]), new Set([former.net.device]))
      expect(here.net.peers().map(({ device }) => device)).toEqual([other.net.device])
      await until(() => former.syncsRunning === 0)
    })

    test.each(['lowest', 'highest'] as const)(
      'that comes gets a stream, no place among the peers, and no gossip: %s key',
      async (key) => {
        const { here, other, former } = await withFormer(key)
        for (const { net } of [here, other, former]) net.setTopics(['topic'])
        for (const [one, next] of [
          [here, other],
          [other, here],
        ] as const)
          one.net.setTeam(new Map([[next.net.device, next.net.addresses()]]), new Set([former.net.device]))
        await until(() => here.syncsRunning === 1)
        const told = Promise.withResolvers<void>()
        here.onSync = async (stream) => {
          if (stream.device === former.net.device) {
            await stream.send(bytes('you were removed'))
            told.resolve()
          }
          await readAll(stream, () => undefined)
        }
        former.net.setTeam(new Map([[here.net.device, here.net.addresses()]]))
        await told.promise
        await until(() => former.frames.some((frame) => Buffer.from(frame).toString() === 'you were removed'))
        expect(here.net.peers().map(({ device }) => device)).toEqual([other.net.device])
        expect(here.changes.filter(({ device }) => device === former.net.device)).toEqual([])
        await published(here, 'topic', 'for the team')
        await until(() => other.gossip.some(({ text }) => text === 'for the team'))
        expect(former.gossip).toEqual([])
        former.net.setTeam(new Map())
        await until(() => here.syncsRunning === 1)
      },
    )
  })
}
