/** The two changes that this example hands over: a small one, and one of more than 100 KiB. */
import { type Change, createRepository } from '../stage/repository.ts'

const BEFORE = `from api.db import all_users


def list_users(request):
    return all_users()
`

const AFTER = `from api.db import users_after

PAGE_SIZE = 50


def list_users(request):
    items = users_after(request.args.get("cursor"), limit=PAGE_SIZE)
    next_cursor = items[-1].id if len(items) == PAGE_SIZE else None
    return {"items": items, "next_cursor": next_cursor}
`

const USERS = 'src/api/users.py'
const FIXTURES = 'src/api/fixtures.py'

export interface Changes {
  /** Makes `/users` answer { items, next_cursor }. */
  paginateUsers(): Change
  /** A change of more than 100 KiB. */
  renameEverything(): Change
}

/** The bytes that the large diff has at least. */
const LARGE_DIFF_BYTES = 100 * 1024

export function createChanges(folder: string): Changes {
  const repository = createRepository(folder, { [USERS]: BEFORE, [FIXTURES]: fixtures('user') })
  return {
    paginateUsers: () => repository.change(USERS, AFTER),
    renameEverything() {
      const large = repository.change(FIXTURES, fixtures('member'))
      if (Buffer.byteLength(large.diff) < LARGE_DIFF_BYTES) throw new Error('the large diff is too small')
      return large
    },
  }
}

function fixtures(name: string): string {
  const rows = Array.from({ length: 1600 }, (_, row) => `    ("${name}-${row}", ${row * 7919}),  # größer ✓\n`)
  return `ROWS = [\n${rows.join('')}]\n`
}
