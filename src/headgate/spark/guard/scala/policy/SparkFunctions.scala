package io.headgate.guard.policy

import java.lang.reflect.Modifier

import org.apache.spark.sql.SparkSession

/**
 * Functions of Spark's own that a plan calls row by row (`ScalaUDF`), such as those of `spark.ml`. No client can send one: the
 * gateway refuses the message. Spark makes each in a class of `function-owners.txt`, and an encoder may create objects of these.
 */
object SparkFunctions {
  private val owners = AllowLists.of("function-owners")

  /** Whether the objects of a class have no field of their own; it does not keep the classes of closures. */
  private val stateless = new ClassValue[java.lang.Boolean] {
    override protected def computeValue(of: Class[_]): java.lang.Boolean =
      Iterator.iterate[Class[_]](of)(_.getSuperclass).takeWhile(_ != null).flatMap(_.getDeclaredFields)
        .forall(field => Modifier.isStatic(field.getModifiers))
  }

  /** Whether the function is a closure of a listed class. */
  def isOwn(function: Any): Boolean = function match {
    case closure: AnyRef => isOwnClass(closure.getClass)
    case _ => false
  }

  /** Whether a closure holds no value, so that the JVM has one object of it. */
  def holdsNothing(function: AnyRef): Boolean = stateless.get(function.getClass)

  /** Whether the class is a listed one, from Spark's own class loader. */
  def isOwnClass(of: Class[_]): Boolean =
    (of.getClassLoader eq classOf[SparkSession].getClassLoader) && owners.exists(of.getName.startsWith)
}
