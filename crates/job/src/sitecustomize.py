# Made by yard for a run whose hangs are looked for: on a signal that nothing else uses, Python writes
# where each of its threads stands.
import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))
try:
    import faulthandler

    _out = open(os.path.join(_here, "stack-%d" % os.getpid()), "a")
    faulthandler.register(60, file=_out, all_threads=True)
except Exception:
    pass
# The module of this name that the program would have without this one.
sys.path[:] = [_at for _at in sys.path if os.path.abspath(_at) != _here]
_own = sys.modules.pop("sitecustomize", None)
try:
    import sitecustomize  # noqa: F401
except ImportError:
    sys.modules["sitecustomize"] = _own
