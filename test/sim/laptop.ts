/** One laptop: a whole node, on a disk and a network that fail as they are told to. */
import type { SyncMessage } from '../../protocol/index.ts'
import type { MemoryHub } from '../../src/net/memory-net.ts'
import { type Node, type NodeOptions, openNode } from '../../src/node/node.ts'
import { SPACES, type Space } from '../../src/store/store.ts'
import { type Log, SILENT_LOG } from '../../src/system.ts'
import { actor, seedOf } from '../cast.ts'
import type { Hand, SimClock } from './clock.ts'
import type { BatchFate, Disk, Row } from './disk.ts'
import { faultyNet } from './net.ts'
import type { Random } from './random.ts'
import { type Holder, type Scene } from './scene.ts'

/** Where a node may die: around a batch, or before something is said. */
export type CrashPoint = 'before a batch' | 'after a batch' | 'before a publish' | 'before a send'

/** What a node is made to do wrong, so that the checkers show what they are worth. */
export interface Defects {
  /** The disk says that a batch is written so long before it is, ms. */
  readonly diskLiesForMs?: number
  /** These messages are never said. */
  readonly mute?: readonly SyncMessage['t'][]
  /** The mark outside of the store is not looked at. */
  readonly noStartMark?: boolean
}

/** Shared by all laptops of a world. */
export interface Surroundings {
  readonly clock: SimClock
  readonly hub: MemoryHub
  /** The network's own clock. */
  readonly hubClock: Hand
  readonly scene: Scene
  readonly defects: Defects
  /** How the nodes are set. */
  readonly node: Partial<Pick<NodeOptions, 'bootstrap' | 'mailbox' | 'quotas'>>
  delay(from: string, to: string): number
  gossipComesAgainAfter(): number | undefined
}

export interface Laptop {
  readonly holder: Holder
  readonly name: string
  readonly device: string
  readonly node: Node | undefined
  /** `busy`: it starts or stops. */
  readonly state: 'off' | 'busy' | 'up'
  /** How its clock differs from true time, ms. */
  skew: number
  /** The `count`th time that it comes to `point` it dies there. */
  armCrash(point: CrashPoint, count: number): void
  disarm(): void
  start(): Promise<void>
  /** An orderly end. */
  stop(): Promise<void>
  /** The power is gone. */
  crash(): void
  /** Copies the disk as it is now. */
  backUp(): Promise<void>
  /** True if there is a copy that a start since then would notice. */
  readonly hasBackup: boolean
  /** Puts the copy in place of the disk of a laptop that is off. */
  restore(): Promise<void>
  /** Timers that its node waits for. */
  readonly timers: number
}

export function createLaptop(holder: Holder, firstDisk: Disk, around: Surroundings & { random: Random }): Laptop {
  const { clock, hub, hubClock, scene, defects, random } = around
  const { name } = holder
  const { device } = actor(name)
  let disk = firstDisk
  let backup: { disk: Disk; mark: number } | undefined
  let mark = 0
  let armed: { point: CrashPoint; count: number } | undefined
  let run: { node: Node | undefined; hand: Hand; die(): void } | undefined
  let leaving: Promise<void> = Promise.resolve()
  let skew = 0

  function comesTo(point: CrashPoint): boolean {
    if (armed?.point !== point || --armed.count > 0) return false
    armed = undefined
    return true
  }

  function fateOf(): BatchFate {
    if (comesTo('before a batch')) return 'crash before'
    if (comesTo('after a batch')) return 'crash after'
    return defects.diskLiesForMs === undefined ? 'write' : { lieForMs: defects.diskLiesForMs }
  }

  const log: Log = {
    ...SILENT_LOG,
    error: (message, fields) => scene.violated('log', `${name}: ${message} ${JSON.stringify(fields)}`),
  }

  const laptop: Laptop = {
    holder,
    name,
    device,
    get node() {
      return run?.node
    },
    get state() {
      return run === undefined ? 'off' : run.node === undefined ? 'busy' : 'up'
    },
    get skew() {
      return skew
    },
    set skew(next) {
      skew = next
      if (run) run.hand.skew = next
    },
    armCrash(point, count) {
      armed = { point, count }
    },
    disarm() {
      armed = undefined
    },
    async start() {
      await leaving
      const hand = clock.hand(skew)
      const death = Promise.withResolvers<void>()
      let alive = true
      const isAlive = (): boolean => alive
      const net = hub.net(device, { clock: hubClock, dice: (count) => random.bytes(count), log: SILENT_LOG })
      const current = {
        node: undefined as Node | undefined,
        hand,
        die() {
          alive = false
          hand.stop()
          death.resolve()
          // A program that is gone says no goodbye, but its connections break.
          leaving = net.stop()
        },
      }
      run = current
      const crash = (): void => {
        if (run === current) laptop.crash()
      }
      const store = disk.open({
        isAlive,
        fateOf,
        crash,
        onWritten: (writes) => scene.written(holder, writes),
        after: (ms, then) => void hand.after(ms, then),
      })
      const node = await openNode({
        ...around.node,
        store,
        net: faultyNet({
          net,
          clock: hubClock,
          isAlive,
          crash,
          death: death.promise,
          diesBefore: (what) => comesTo(what === 'publish' ? 'before a publish' : 'before a send'),
          delayTo: (other) => around.delay(device, other),
          comesAgainAfter: () => around.gossipComesAgainAfter(),
          swallows: (message) => defects.mute?.includes(message.t) === true,
        }),
        system: { clock: hand, dice: (count) => random.bytes(count), log },
        seed: seedOf('device', name),
        deviceName: `${name}-laptop`,
        version: '0.0.0',
        startMark: {
          read: () => (defects.noStartMark === true ? undefined : mark),
          write(starts) {
            if (alive) mark = starts
          },
        },
      })
      current.node = node
      scene.note(`${name} runs`)
    },
    async stop() {
      const stopping = run
      if (!stopping?.node) return
      scene.note(`${name} stops`)
      const { node } = stopping
      stopping.node = undefined
      await node.stop()
      stopping.hand.stop()
      if (run === stopping) run = undefined
    },
    crash() {
      if (!run) return
      scene.note(`${name} crashes`)
      run.die()
      run = undefined
      armed = undefined
    },
    async backUp() {
      backup = { disk: await disk.copy(), mark }
      scene.note(`${name} is backed up`)
    },
    get hasBackup() {
      return backup !== undefined && backup.mark < mark
    },
    async restore() {
      if (run || !backup) return
      disk = await backup.disk.copy()
      const rows = new Map<Space, Row[]>()
      for (const space of SPACES) rows.set(space, await disk.rows(space))
      const { restored } = holder
      scene.replaced(holder, rows)
      holder.restored = restored + 1
    },
    get timers() {
      return run?.hand.pending ?? 0
    },
  }
  return laptop
}
