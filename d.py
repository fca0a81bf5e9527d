from corpus import *
import sys
for n in sys.argv[1:]:
    try: print(get(n))
    except BaseException as e: print(n,type(e),e)
