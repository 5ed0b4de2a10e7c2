/**
 * A small internet of network namespaces: one public host, and routers that masquerade, each with
 * one laptop behind it. Nothing leaves the machine: no namespace has a way out.
 *
 *      public host 11.0.0.10
 *             │ bridge
 *       ┌─────┴──────┐
 *   11.0.0.21    11.0.0.22      routers: what was not asked for from inside is dropped
 *   LAN .1 │         │ LAN .1
 *   LAN .2 laptop    laptop
 *
 * libp2p takes the address ranges that are set aside for examples as private ones, hence 11.0.0.0.
 */
import { execFileSync } from 'node:child_process'

export const PUBLIC_HOST = '11.0.0.10'

export interface RouterOptions {
  /** First three numbers of its LAN, such as 192.168.1. */
  lan: string
  /** Takes another port for each host that is spoken to, so that no hole can be made through it. */
  symmetric?: boolean
}

export interface Lab extends Disposable {
  /** Command and arguments in front of whatever is to run on the public host. */
  readonly host: readonly string[]
  /** The same for the laptop of that number, plugged in at the router of that number at first. */
  laptop(index: number): readonly string[]
  /** Takes the laptop to the router of another number, where no laptop is. */
  move(laptop: number, router: number): void
  setLink(laptop: number, state: 'up' | 'down'): void
  /** Every router loses so many packets of a hundred from now on. */
  lose(percent: number): void
}

const PREFIX = `relay-nat-${process.pid}`
let labs = 0

/** Why no such thing can be made here; undefined where it can. */
export function whyNoLab(): string | undefined {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'network namespaces need Linux and root'
  try {
    buildLab([{ lan: '192.168.1' }])[Symbol.dispose]()
    return undefined
  } catch (error) {
    return `network namespaces with routers cannot be made here (iproute2 and nftables): ${firstLine(error)}`
  }
}

export function buildLab(routers: readonly RouterOptions[]): Lab {
  labs += 1
  const made: string[] = []
  const within = (space: string): string[] => ['ip', 'netns', 'exec', `${PREFIX}-${labs}-${space}`]
  const name = (space: string): string => within(space).at(-1) ?? ''

  function namespace(space: string): void {
    ip('netns', 'add', name(space))
    made.push(name(space))
    ip('-n', name(space), 'link', 'set', 'lo', 'up')
  }

  /** Two namespaces joined by a cable; the names are those of its ends. */
  function cable(from: string, end: string, to: string, otherEnd: string): void {
    ip('link', 'add', end, 'netns', name(from), 'type', 'veth', 'peer', 'name', otherEnd, 'netns', name(to))
    ip('-n', name(from), 'link', 'set', end, 'up')
    ip('-n', name(to), 'link', 'set', otherEnd, 'up')
  }

  function router(index: number, symmetric: boolean): void {
    const space = `router${index}`
    namespace(space)
    cable(space, 'wan', 'public', `port${index}`)
    ip('-n', name('public'), 'link', 'set', `port${index}`, 'master', 'bridge')
    ip('-n', name(space), 'address', 'add', `11.0.0.${21 + index}/24`, 'dev', 'wan')
    run([...within(space), 'sysctl', '-qw', 'net.ipv4.ip_forward=1'])
    nft(
      space,
      `table ip router {
        chain post { type nat hook postrouting priority 100; oifname "wan" masquerade ${symmetric ? 'random,fully-random' : ''}; }
        chain pass { type filter hook forward priority 0; policy drop; ct state established,related accept; iifname "lan" accept; }
        chain in { type filter hook input priority 0; policy accept; iifname "wan" ct state new drop; }
        chain loss { type filter hook forward priority -5; policy accept; }
      }`,
    )
  }

  function nft(space: string, rules: string): void {
    run([...within(space), 'nft', '-f', '-'], rules)
  }

  function plug(laptop: number, at: number): void {
    const lan = routers[at]?.lan ?? ''
    cable(`router${at}`, 'lan', `laptop${laptop}`, 'eth0')
    ip('-n', name(`router${at}`), 'address', 'add', `${lan}.1/24`, 'dev', 'lan')
    ip('-n', name(`laptop${laptop}`), 'address', 'add', `${lan}.2/24`, 'dev', 'eth0')
    ip('-n', name(`laptop${laptop}`), 'route', 'add', 'default', 'via', `${lan}.1`)
    places[laptop] = at
  }

  const places: number[] = []
  const lab: Lab = {
    host: within('public'),
    laptop: (index) => within(`laptop${index}`),
    move(laptop, at) {
      ip('-n', name(`laptop${laptop}`), 'link', 'delete', 'eth0')
      plug(laptop, at)
    },
    setLink(laptop, state) {
      ip('-n', name(`laptop${laptop}`), 'link', 'set', 'eth0', state)
      const lan = routers[places[laptop] ?? 0]?.lan ?? ''
      if (state === 'up') ip('-n', name(`laptop${laptop}`), 'route', 'replace', 'default', 'via', `${lan}.1`)
    },
    lose(percent) {
      for (const index of routers.keys())
        nft(`router${index}`, `add rule ip router loss numgen random mod 100 < ${percent} drop`)
    },
    [Symbol.dispose]() {
      for (const space of made) ip('netns', 'delete', space)
    },
  }
  try {
    namespace('public')
    ip('-n', name('public'), 'link', 'add', 'bridge', 'type', 'bridge')
    ip('-n', name('public'), 'address', 'add', `${PUBLIC_HOST}/24`, 'dev', 'bridge')
    ip('-n', name('public'), 'link', 'set', 'bridge', 'up')
    for (const [index, { symmetric }] of routers.entries()) {
      router(index, symmetric === true)
      namespace(`laptop${index}`)
    }
    for (const index of routers.keys()) if (index < LAPTOPS_COUNT) plug(index, index)
    return lab
  } catch (error) {
    lab[Symbol.dispose]()
    throw error
  }
}

/** Further routers are for laptops that move. */
const LAPTOPS_COUNT = 2

function ip(...args: string[]): void {
  run(['ip', ...args])
}

function run([command = '', ...args]: readonly string[], input = ''): void {
  execFileSync(command, args, { input, stdio: ['pipe', 'pipe', 'pipe'] })
}

function firstLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return text.split('\n').slice(0, 2).join(': ')
}
